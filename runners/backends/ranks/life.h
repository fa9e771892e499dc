// runners/backends/ranks/life.h — One rank's life in its own process: the plan without its bug, the gate with
// its faults, the world, the workload.
#pragma once

#include <filesystem>
#include <functional>

#include "runners/backends/ranks/comm_library.h"
#include "runners/backends/ranks/gate.h"
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

// The process around a rank. It sees how the rank ends, wakes it when it was stopped for a while, and where
// the plan has no launcher that watches, hides its death.

struct Kept {
    std::filesystem::path directory;  // of the run
    results::Rank rank = 0, ranks = 1;
    bool bare = false;  // whoever started us hears of an end when all ranks have ended
};

// Forks; `live` runs in the child and gives its exit code. Ends as the child did: by its code or its signal.
int keep(const Kept& kept, const std::function<int(const Keeper&)>& live);

// The moment from which the job's time counts, the same for all: that of whoever says it first.
JobClock agree_on_clock(const std::filesystem::path& directory);

}  // namespace deadrank::runners
