// runners/promises/promise_file.h — A framework that promises to survive, as a TOML file describes it: how
// its processes are started, what it promises under which fault, with the source, and why it promises nothing
// under others. Also the faults, the same for all.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "scenarios/model/error.h"

namespace deadrank::runners::promises {

// One action of a fault. A worker applies its own to itself at the moment; the others are applied from
// outside, when worker `at` reaches it.
struct FaultAction {
    std::string on;    // "worker", "coordinator", "agent", "node", "link", "checkpoint"
    int number = 0;    // of the worker, agent, node or link
    std::string does;  // of a worker: kill, kill_after, raise, stop, wait, slow, corrupt, jump_clock,
                       // fill_disk; of others: kill, cut, tear
    std::string phase = "forward";
    int step = 6;
    int life = 1;        // not before this life of the worker
    double seconds = 0;  // of stop, wait or cut; kill_after: how long into the call
    double back = 0.5;   // seconds until the killed process is restarted
};

struct PromisedFault {
    std::string name, says;
    std::vector<FaultAction> actions;
    bool needs_network() const;
};

// A process that we start, as a user's scheduler would.
struct SubjectProcess {
    std::string name, role;  // role: coordinator, agent, worker
    std::vector<std::string> command;
    std::map<std::string, std::string> environment;
    int node = 0;
    bool service = false;         // does not end by itself
    std::string again = "never";  // never, failure: what the documentation tells a scheduler to do
};

struct Promise {
    std::vector<std::string> faults;
    std::string text, source;
    std::vector<std::string> asks;
    double within = 0;  // seconds until training continues, or until the error; 0 = not promised
    int redone = 0;     // steps that may be repeated, for the ask steps_redone
};

struct PromiseSubject {
    std::string name, framework, says;
    std::string package;                // "torchft-nightly==2026.10.26"; empty = torch itself
    std::vector<std::string> packages;  // further packages, each with its version
    std::string prepared;               // directory of a user's own build, used instead of the overlay
    std::string again;                  // the options that choose another release than the file's
    std::vector<std::string> programs;  // of the package, in bin/, that must exist
    std::string unplayed;               // why it cannot be played; empty = it can
    int workers = 2;
    int steps = 16;
    double timeout = 5;  // seconds, set by us for its collectives and heartbeats
    double quiet = 40;   // seconds without a sign of life until it counts as stuck
    double limit = 110;  // seconds for a run
    std::vector<SubjectProcess> processes;
    std::vector<Promise> promises;
    std::map<std::string, std::string> unpromised;  // by fault: why not, according to its documentation
};

struct PromiseBook {
    std::filesystem::path home;
    std::vector<PromisedFault> faults;
    std::vector<PromiseSubject> subjects;
};

// Errors: environment (the files are not found from the program), io, bad_input with every mistake and its
// place.
scenarios::Result<PromiseBook> load_promises();

// Parses one subject's text, for a user's own files; `faults` are the known names.
scenarios::Result<PromiseSubject> parse_subject(std::string_view toml, const std::string& file,
                                                const std::vector<std::string>& faults);
scenarios::Result<std::vector<PromisedFault>> parse_faults(std::string_view toml, const std::string& file);

// The words that a promise may ask for.
const std::vector<std::string>& list_known_asks();

}  // namespace deadrank::runners::promises
