// runners/promises/promise_history.h — What the workers of a promised run wrote of themselves, and what is
// measured in it beside its control.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace deadrank::runners::promises {

using Moment = std::int64_t;  // nanoseconds of the monotonic clock, as Python and we read it

struct WorkerEvent {
    Moment at = 0;
    int unit = 0, pid = 0;
    std::string kind;  // begin, resume, phase, fault, step, replicas, final
    std::string phase, does, loss;
    int step = -1, life = 0;
    double seconds = 0;
    std::vector<int> samples;
    std::map<std::string, std::string> digests;  // of a final: parameters, optimizer, random
};

// A line of JSON; nothing for one that is torn.
std::optional<WorkerEvent> worker_event(std::string_view line);

// How a run ended, as the player saw it.
struct PlayedRun {
    std::vector<WorkerEvent> events;  // by time
    Moment began = 0, ended = 0;
    bool over = false;              // everything that ends by itself did
    std::string stuck;              // else why it was ended
    bool failed = false;            // a process that was not to be started again ended with an error
    std::optional<Moment> failure;  // when the first of these did
    std::optional<Moment> last_fault;
    int fault_step = -1;   // in which it happened
    std::vector<int> hit;  // workers that a fault ended, each once
    std::string unpulled;  // why the fault did not happen; empty = it did
    int processes_left = 0, files_left = 0;
    std::string last_words;  // of the process that failed first
    double busy = 0;         // processes that wanted a processor, for each that the machine has; at most
};

struct Measured {
    bool finished = false;  // and every worker told its final state
    bool same_parameters = false, same_loss = false, same_optimizer = false, same_random = false;
    bool replicas_agree = false;
    int lost = 0, twice = 0;            // samples of the training that counts, beside the control's
    int redone = 0;                     // steps that a worker did again, at most
    int lives = 0;                      // beyond each worker's first
    int lives_of_others = 0;            // of workers that no fault ended
    std::optional<double> goes_on;      // seconds after the last fault
    std::optional<double> ended_after;  // seconds from the last fault to the first failure
    int processes_left = 0, files_left = 0;
};

// `control` may be the run itself.
Measured measure(const PlayedRun& run, const PlayedRun& control);

// Whether a worker was back only when another one had finished: then there was nobody to go on with.
bool back_too_late(const PlayedRun& run);

// "goes on after 4.2 s; 1 step redone; 4 samples lost".
std::string measured_text(const Measured& measured, bool faulted);

}  // namespace deadrank::runners::promises
