// runners/promises/promise_file.h — A framework that promises to survive, as a TOML file describes it: how
// its processes are started, what it promises under which fault, with the source, and why it promises nothing
// under others. Also the faults, the same for all.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "scenarios/model/enum_words.h"
#include "scenarios/model/error.h"

namespace deadrank::runners::promises {

// What an action of a fault is applied to.
enum class Target { worker, coordinator, agent, node, link, checkpoint };
constexpr auto enum_words(Target) {
    return std::to_array<std::string_view>({"worker", "coordinator", "agent", "node", "link", "checkpoint"});
}

// What an action does. The last two are done to others than workers alone, and of the rest only `kill` to
// others.
enum class ActionKind {
    kill,
    kill_after,
    raise,
    stop,
    wait,
    slow,
    corrupt,
    jump_clock,
    fill_disk,
    cut,
    tear
};
constexpr auto enum_words(ActionKind) {
    return std::to_array<std::string_view>({"kill", "kill_after", "raise", "stop", "wait", "slow", "corrupt",
                                            "jump_clock", "fill_disk", "cut", "tear"});
}

// One action of a fault. A worker applies its own to itself at the moment; the others are applied from
// outside, when worker `at` reaches it.
struct FaultAction {
    Target on = Target::worker;
    int number = 0;  // of the worker, agent, node or link
    ActionKind does = ActionKind::kill;
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

enum class Role { coordinator, agent, worker };
constexpr auto enum_words(Role) {
    return std::to_array<std::string_view>({"coordinator", "agent", "worker"});
}

// When the documentation tells a scheduler to start a process again.
enum class StartAgain { never, failure };
constexpr auto enum_words(StartAgain) { return std::to_array<std::string_view>({"never", "failure"}); }

// A process that we start, as a user's scheduler would.
struct SubjectProcess {
    std::string name;
    Role role = Role::worker;
    std::vector<std::string> command;
    std::map<std::string, std::string> environment;
    int node = 0;
    bool service = false;  // does not end by itself
    StartAgain again = StartAgain::never;
};

// What a promise asks of a run.
enum class Ask {
    finishes,
    same_parameters,
    same_optimizer,
    same_random,
    same_loss,
    replicas_agree,
    no_sample_lost,
    no_sample_twice,
    steps_redone,
    others_live,
    no_restart,
    nothing_left,
    ends,
    ends_with_error,
};
constexpr auto enum_words(Ask) {
    return std::to_array<std::string_view>({"finishes", "same_parameters", "same_optimizer", "same_random",
                                            "same_loss", "replicas_agree", "no_sample_lost",
                                            "no_sample_twice", "steps_redone", "others_live", "no_restart",
                                            "nothing_left", "ends", "ends_with_error"});
}

struct Promise {
    std::vector<std::string> faults;
    std::string text, source;
    std::vector<Ask> asks;
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

}  // namespace deadrank::runners::promises
