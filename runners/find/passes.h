// runners/find/passes.h — The passes that make a failing plan smaller: faults left out, faults made simpler,
// fewer and later steps. Those over the cluster and the settings are in pass_settings.cpp.
#pragma once

#include <string>
#include <vector>

#include "runners/find/shrink.h"
#include "scenarios/model/plan.h"

namespace deadrank::runners::find {

// Each takes what it can and says whether it took anything.
bool fewer_faults(Reduction& reduction);
bool fewer_targets(Reduction& reduction);    // ranks and nodes of one fault
bool smaller_cluster(Reduction& reduction);  // keeps degrees of parallelism that divide
bool fewer_steps(Reduction& reduction);
bool simpler_moments(Reduction& reduction);  // parts of `when`
bool usual_settings(Reduction& reduction);   // sizes and times of cluster, workload and faults
bool simpler_kinds(Reduction& reduction);    // of faults and workload
bool usual_seed(Reduction& reduction);

struct Pass {
    std::string name;
    bool (*run)(Reduction&) = nullptr;
};
const std::vector<Pass>& all_passes();

// Every fault kind in a form that can be felt: what a search takes from the shelf when nobody says which
// values it should have.

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
