// results/reports/run_view.h — One run as data for the page: its timeline, its logs, who waits for whom.
#pragma once

#include <string_view>

#include "results/judging/judge.h"
#include "results/reports/json_files.h"

namespace deadrank::results::reports {

// What is known of one run. Without truth (a production job) there are no faults to mark.
struct SeenRun {
    std::string_view variant;  // fault, control, healed
    const Evidence* evidence = nullptr;
    const Truth* truth = nullptr;
    const std::vector<Finding>* findings = nullptr;
    const Judgement* judgement = nullptr;
};

inline constexpr std::size_t row_bytes_most = 600'000;  // of one run's rows, before base64

Json run_view(const SeenRun& run, std::size_t bytes_most = row_bytes_most);

// Parts of it, each in a file of its own.
Json waits_view(const Evidence& evidence, const Truth* truth);
// Who waits for whom at one moment, also for the shortest time: what a cursor in the timeline points at.
Json waits_at(const Evidence& evidence, Time when);
Json logs_view(const Evidence& evidence);
Json counters_view(const Evidence& evidence);

double micros_of(Time time);  // `never` is written as -1, which stands for null

}  // namespace deadrank::results::reports
