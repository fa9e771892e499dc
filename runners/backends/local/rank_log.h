// runners/backends/local/rank_log.h — Turns what a job prints into events: every line, and what some lines
// report.
#pragma once

#include <map>
#include <regex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "results/record/event.h"
#include "runners/backends/process/launch.h"

namespace deadrank::runners {

struct PrintedStep {
    Nanoseconds at = 0;
    double loss = 0;
    std::string digest;  // as it was printed; empty if it was not
};

// A line that reports a step: its pattern, and what the groups are (rank, step, loss, digest).
struct StepPattern {
    std::regex pattern;
    std::vector<std::string> fields;
};
StepPattern own_steps();  // of our own programs: "step=3 loss=0.25"

// What launchers report about their children's exits, by pid. Later lines override earlier ones.
struct ExitReport {
    int code = 0;
    int signal = 0;
};

constexpr int code_of_launcher = -1;  // an exit whose code only the launcher has

struct LogReading {
    std::map<std::pair<results::Rank, std::int64_t>, PrintedStep> steps;  // by rank and step
    std::map<int, ExitReport> exits;
    std::map<results::Rank, ExitReport> ends;  // by rank, from mpirun
};

// Lines in which a launcher names the process that printed them, as Ray's "(RayTrainWorker pid=7811) …", are
// given to its rank, without that and without colours. `ranks`: by pid.
std::vector<Line> given_to_ranks(std::span<const Line> lines, const std::map<int, results::Rank>& ranks);

// Writes rank.log for each line, and rank.config and shard.layout where a line says so.
LogReading read_log(std::span<const Line> lines, Nanoseconds started, results::EventSink& sink,
                    const StepPattern& steps = own_steps());

}  // namespace deadrank::runners
