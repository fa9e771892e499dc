// runners/backends/ranks/life.h — One rank's life in its own process: the plan without its bug, the gate with
// its faults, the world, the workload.
#pragma once

#include <filesystem>
#include <functional>

#include "runners/backends/ranks/comm_library.h"
#include "runners/backends/ranks/gate.h"
#include "scenarios/model/plan.h"

namespace deadrank::runners {

// A plan as a rank may read it: what to run and what to break, but neither the bug that it replays nor what
// must be noticed.
std::string hidden_plan_text(scenarios::Plan plan);
scenarios::Result<scenarios::Plan> read_hidden_plan(const std::filesystem::path& file);

constexpr int not_ours = 70;  // exit code for an error of deadrank's own

struct Life {
    std::filesystem::path directory;  // of the run
    results::Rank process = 0;
    std::function<JobClock()> clock;  // called when the library is open
    Keeper keeper;
    const Reach& reach;
    CommLibrary& library;
};

// Returns the exit code: 0, that of its exception, or `not_ours` after a sentence on stderr.
int live(const Life& life);
int complain(const std::string& what);

// ── The process around a rank. It sees how the rank ends, resumes it after a timed stop, and hides its
// death if the plan has no launcher that watches.

struct Kept {
    std::filesystem::path directory;  // of the run
    results::Rank rank = 0, ranks = 1;
    bool bare = false;  // our parent sees an exit only when all ranks have ended
};

// Forks; `live` runs in the child and gives its exit code. Ends as the child did: by its code or its signal.
int keep(const Kept& kept, const std::function<int(const Keeper&)>& live);

// The moment at which the job's time begins, the same for all ranks: the first one to call sets it.
JobClock agree_on_clock(const std::filesystem::path& directory);

}  // namespace deadrank::runners
