// runners/local/log_reader.h — What a job prints, as events: every line, and what some lines say besides.
#pragma once

#include <map>
#include <span>
#include <string>
#include <utility>

#include "results/event.h"
#include "runners/local/launch.h"

namespace deadrank::runners {

struct PrintedStep {
    Nanoseconds at = 0;
    double loss = 0;
};

// What launchers say about their children's ends, by pid. Later lines overrule earlier ones.
struct ExitReport {
    int code = 0;
    int signal = 0;
};

struct LogReading {
    std::map<std::pair<results::Rank, std::int64_t>, PrintedStep> steps;  // by rank and step
    std::map<int, ExitReport> exits;
};

// Writes rank.log for each line, and rank.config and shard.layout where a line says so.
LogReading read_log(std::span<const Line> lines, Nanoseconds started, results::EventSink& sink);

int level_of(const std::string& line, bool error);  // 0 info, 1 warning, 2 error

}  // namespace deadrank::runners
