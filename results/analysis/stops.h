// results/analysis/stops.h — A rank stood still once, for ten steps and ten seconds, while others waited for
// it; and when that is the program's design.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "results/analysis/paces.h"

namespace deadrank::results::analysis {

constexpr Time stop_min = std::chrono::seconds(10);
constexpr std::int64_t alike_stops_permille = 1250;  // the longest of several stops, of the shortest

// Whether these are every so many steps from `since` on, counted from step 0 on, as a program does what it
// plans. Steps that follow each other are not.
bool has_equal_spacing(std::span<const std::int64_t> steps, std::int64_t since);

struct Stop {
    int attempt = 0;
    std::int64_t step = 0;
    Rank process = no_rank;
    Time lasted{0};           // more than usual
    Time whole{0}, usual{0};  // of what it does for all; 0 if it stopped in its own work
    bool epoch_begins = false;

    bool for_all() const { return whole > Time{0}; }
};

// Those that no plan explains, in order of attempt and step.
//
// An evaluation on one rank every fifth step is planned, and so is what comes with the first step of each
// epoch: the stops of that rank recur at one distance from the first step on, or at epochs' begin, and last
// about as long. So is what one rank of each node does for its node, such as compiling: the ranks that stop
// have one place on all nodes and stop alike.
std::vector<Stop> unplanned_stops(const Evidence& evidence, std::span<const StepPace> steps);

}  // namespace deadrank::results::analysis
