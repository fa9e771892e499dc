// runners/find/passes.h — The passes that make a failing plan smaller: faults left out, faults made simpler,
// fewer and later steps. Those over the cluster and the settings are in pass_settings.cpp.
#pragma once

#include <string>
#include <vector>

#include "runners/find/shrink.h"

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

}  // namespace deadrank::runners::find
