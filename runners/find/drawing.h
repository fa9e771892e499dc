// runners/find/drawing.h — A seed becomes a plan: which kinds of fault there are today, how many, where and
// when; which training on which cluster. Every draw is named, so one seed under one coverage is one plan.
#pragma once

#include <string>
#include <vector>

#include "runners/find/coverage.h"
#include "runners/find/stock.h"

namespace deadrank::runners::find {

struct SwarmWords {
    const scenarios::Vocabulary* words = nullptr;
    std::vector<std::string> workloads;  // empty = all
    std::vector<std::string> kinds;      // of faults; empty = all
    std::int64_t ranks_most = 16;
    std::size_t faults_most = 4;
};

struct Drawn {
    scenarios::Plan plan;
    std::vector<CoverageCell> cells;  // one for each fault
};

Drawn draw_plan(std::uint64_t seed, const SwarmWords& words, const Coverage& coverage);

}  // namespace deadrank::runners::find
