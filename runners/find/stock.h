// runners/find/stock.h — Every fault kind in a form that can be felt: what a search takes from the shelf when
// nobody says which values it should have.
#pragma once

#include <string>
#include <vector>

#include "scenarios/model/plan.h"

namespace deadrank::runners::find {

enum class Aim { rank, two_ranks, node, job };

struct Stocked {
    std::string label;           // "bend_value seam=sampler.seed"; the kind alone where there is but one
    scenarios::FaultSpec fault;  // without ranks, nodes and moment
    Aim aim = Aim::job;
    bool at_start = false;  // acts before the job; its moment is not asked for
};

struct Stock {
    std::vector<Stocked> faults;        // in the order of the vocabulary
    std::vector<std::string> left_out;  // sentences: a kind whose required values nobody knows
};

// bend_value and skip_block come once for each seam and block of the workload.
Stock stock_of(const scenarios::Vocabulary& words, const scenarios::Kind& workload);

// On that rank, or its node, or its rank and the next one; `when` for all but those at the start. The plan
// gives the shape.
scenarios::FaultSpec aimed(const Stocked& stocked, std::int64_t rank, const scenarios::Trigger& when,
                           const scenarios::Plan& plan);

}  // namespace deadrank::runners::find
