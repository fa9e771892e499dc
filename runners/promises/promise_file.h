// runners/promises/promise_file.h — A framework that promises to survive, as a TOML file describes it: how
// its processes are started, what it promises under which fault with the source, and why it promises nothing
// under others; and the faults, the same for all.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "scenarios/model/error.h"

namespace deadrank::runners::promises {

// One action of a fault. Those on a worker are done by the worker to itself at the moment; the others from
// outside, when worker `at` reaches it.
struct FaultAction {
    std::string on;    // "worker", "coordinator", "agent", "node", "link", "checkpoint"
    int number = 0;    // of the worker, agent, node or link
    std::string does;  // of a worker: kill, kill_after, raise, stop, wait, slow, corrupt, jump_clock,
                       // fill_disk; of others: kill, cut, tear
    std::string phase = "forward";
    int step = 6;
    int life = 1;        // not before the worker's life of that number
    double seconds = 0;  // stopped, waited, cut; kill_after: how long into the call
    double back = 0.5;   // seconds until what was killed is started again
};

struct PromisedFault {
    std::string name, says;
    std::vector<FaultAction> actions;
    bool needs_network() const;
};

// A process that we start as a user's scheduler would.
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
    double within = 0;  // seconds until training goes on, or until the error; 0 = not promised
    int redone = 0;     // steps that may be done again, for the ask steps_redone
};

struct PromiseSubject {
    std::string name, framework, says;
    std::string package;                // "torchft-nightly==2026.10.26"; empty = torch itself
    std::vector<std::string> packages;  // what goes beside it, each with its version
    std::string prepared;               // a directory of a user's own build, in the overlay's place
    std::string again;                  // the words that choose another release than the file's
    std::vector<std::string> programs;  // of the package, below bin/, that must be there
    std::string unplayed;               // why it cannot be played at all; empty = it can
    int workers = 2;
    int steps = 16;
    double timeout = 5;  // of its collectives and heartbeats, as we set it
    double quiet = 40;   // seconds without a sign of life: stuck
    double limit = 110;  // of a run
    std::vector<SubjectProcess> processes;
    std::vector<Promise> promises;
    std::map<std::string, std::string> unpromised;  // by fault: why, in its own documentation's sense
};

struct PromiseBook {
    std::filesystem::path home;
    std::vector<PromisedFault> faults;
    std::vector<PromiseSubject> subjects;
};

// Errors: environment (the files are not near the program), io, bad_input with every mistake and its place.
scenarios::Result<PromiseBook> load_promises();

// Of one subject's text, for files of a user; `faults` are the names there are.
scenarios::Result<PromiseSubject> parse_subject(std::string_view toml, const std::string& file,
                                                const std::vector<std::string>& faults);
scenarios::Result<std::vector<PromisedFault>> parse_faults(std::string_view toml, const std::string& file);

// The words that a promise may ask for.
const std::vector<std::string>& known_asks();

}  // namespace deadrank::runners::promises
