// runners/backends/ranks/life.h — One rank's life in its own process: the plan without its bug, the gate with
// its faults, the world, the workload.
#pragma once

#include <filesystem>

#include "runners/backends/ranks/comm_library.h"
#include "scenarios/model/plan.h"

namespace deadrank::runners {

// A plan as a rank may read it: what to run and what to break, and nothing of the bug it stands for or of
// what must be noticed.

std::string hidden_plan_text(scenarios::Plan plan);
scenarios::Result<scenarios::Plan> read_hidden_plan(const std::filesystem::path& file);

constexpr int not_ours = 70;  // what a mistake of ours exits with

struct Life {
    std::filesystem::path directory;  // of the run
    results::Rank process = 0;
    std::function<JobClock()> clock;  // asked when the library is open
    Keeper keeper;
    const Reach& reach;
    CommLibrary& library;
};

// The exit code: 0, that of its exception, or `not_ours` after a sentence on stderr.
int live(const Life& life);
int complain(const std::string& what);

}  // namespace deadrank::runners
