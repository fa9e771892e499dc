// runners/backends/ranks/keeper.h — The process around a rank. It sees how the rank ends, wakes it when it
// was stopped for a while, and where the plan has no launcher that watches, hides its death.
#pragma once

#include <filesystem>
#include <functional>

#include "runners/backends/ranks/gate.h"

namespace deadrank::runners {

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
