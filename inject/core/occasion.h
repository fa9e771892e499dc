// inject/core/occasion.h — One fault on one rank: what it waits for, and how far it has come.
// Every rank of a fault has its own, so that "the third all_reduce" is each rank's own third.
#pragma once

#include <memory>
#include <vector>

#include "inject/core/fault.h"

namespace deadrank::inject {

struct PlannedFault {
    scenarios::FaultSpec spec;  // every default written out
    std::unique_ptr<Fault> fault = {};
    std::vector<Rank> ranks = {};  // no_rank alone: aims at no rank
    Rhythm rhythm = {};
};

struct Occasion {
    std::size_t fault = 0;  // index in the plan
    Rank rank = results::no_rank;
    std::int64_t matches = 0;
    std::int64_t acts = 0;  // completed: applied and reverted
    bool watching = false;  // still needs its rank's moments
    bool active = false;    // applied, and not reverted since
    bool finished = false;  // nothing more will come of it
    Time alarm = results::never;
};

}  // namespace deadrank::inject
