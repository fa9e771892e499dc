// runners/find/passes.h — The passes that make a failing plan smaller: faults left out, faults made simpler,
// fewer and earlier steps. Those over the cluster and the settings are in pass_settings.cpp.
#pragma once

#include <string>
#include <vector>

#include "runners/find/shrink.h"
#include "scenarios/model/plan.h"

namespace deadrank::runners::find {

// Each takes every reduction that it can, and returns whether it took any.
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

// ── Every fault kind with values that have an effect: what a search uses when no values are given.

enum class Aim { rank, two_ranks, node, job };

struct Stocked {
    std::string label;           // "bend_value seam=sampler.seed"; only the kind if it comes once
    scenarios::FaultSpec fault;  // without ranks, nodes and moment
    Aim aim = Aim::job;
    bool at_start = false;  // acts before the job begins; has no moment
};

struct Stock {
    std::vector<Stocked> faults;        // in the order of the vocabulary
    std::vector<std::string> left_out;  // sentences about kinds with required values that are not known here
};

// bend_value comes once for each seam of the workload, skip_block once for each block.
Stock stock_of(const scenarios::Vocabulary& words, const scenarios::Kind& workload);

// Aims the fault at that rank, its node, or the rank and the next one; `when` applies unless it acts at the
// start. The plan gives the shape.
scenarios::FaultSpec aimed(const Stocked& stocked, std::int64_t rank, const scenarios::Trigger& when,
                           const scenarios::Plan& plan);

}  // namespace deadrank::runners::find
