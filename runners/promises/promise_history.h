// runners/promises/promise_history.h — What the workers of a promised run recorded, and what is measured from
// it in comparison with the control.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runners/promises/promise_file.h"

namespace deadrank::runners::promises {

using Moment = std::int64_t;  // nanoseconds of the monotonic clock, the same for Python and for us

enum class EventKind { begin, resume, phase, fault, step, replicas, final, other };
constexpr auto enum_words(EventKind) {
    return std::to_array<std::string_view>(
        {"begin", "resume", "phase", "fault", "step", "replicas", "final", "other"});
}

struct WorkerEvent {
    Moment at = 0;
    int unit = 0, pid = 0;
    EventKind kind = EventKind::other;
    std::optional<ActionKind> does;  // of a fault
    std::string phase, loss;
    int step = -1, life = 0;
    double seconds = 0;
    std::vector<int> samples;
    std::map<std::string, std::string> digests;  // of a final event: parameters, optimizer, random
};

// From a line of JSON; nothing if it is incomplete.
std::optional<WorkerEvent> worker_event(std::string_view line);

// How a run ended, as the player saw it.
struct PlayedRun {
    std::vector<WorkerEvent> events;  // by time
    Moment began = 0, ended = 0;
    bool over = false;              // every process that should end by itself has ended
    std::string stuck;              // else why we ended the run
    bool interrupted = false;       // by Ctrl-C
    bool failed = false;            // a process that is not restarted ended with an error
    std::optional<Moment> failure;  // when the first such process ended
    std::optional<Moment> last_fault;
    int fault_step = -1;   // in which the last fault happened
    std::vector<int> hit;  // workers ended by a fault, each listed once
    std::string unpulled;  // why a fault did not happen; empty = all did
    int processes_left = 0, files_left = 0;
    std::string last_output;  // output of the process that failed first
    double waited = 0;       // for a processor: largest share of any ten seconds
};

struct Measured {
    bool finished = false;  // and every worker reported its final state
    bool same_parameters = false, same_loss = false, same_optimizer = false, same_random = false;
    bool replicas_agree = false;
    int lost = 0, twice = 0;            // samples, compared with the control's
    int redone = 0;                     // the most steps that any worker repeated
    int lives = 0;                      // of all workers, without each one's first
    int lives_of_others = 0;            // those of workers that no fault ended
    std::optional<double> goes_on;      // seconds from the last fault until training continued
    std::optional<double> ended_after;  // seconds from the last fault to the first failure
    int processes_left = 0, files_left = 0;
};

// `control` may be the run itself.
Measured measure(const PlayedRun& run, const PlayedRun& control);

// Whether a worker came back only after another had finished, and so had no one to train with.
bool returned_too_late(const PlayedRun& run);

// "continues after 4.2 s; 1 step redone; 4 samples lost".
std::string measured_text(const Measured& measured, bool faulted);

}  // namespace deadrank::runners::promises
