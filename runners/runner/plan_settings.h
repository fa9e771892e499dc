// runners/runner/plan_settings.h — From the [cluster] of a plan to the settings of the simulated cluster.
#pragma once

#include "scenarios/model/error.h"
#include "scenarios/model/value.h"
#include "sim/machine/cluster_settings.h"

namespace deadrank::runners {

// What is absent keeps the simulator's default; versions are laid over the default ones. Error: a name it
// does not know.
scenarios::Result<sim::ClusterSettings> cluster_settings(const scenarios::Values& values);

}  // namespace deadrank::runners
