// runners/backend/plan_settings.h — Turns the [cluster] of a plan into the settings of the simulated cluster.
#pragma once

#include "scenarios/model/error.h"
#include "scenarios/model/value.h"
#include "sim/machine/cluster_settings.h"

namespace deadrank::runners {

// Absent settings keep the simulator's default; versions override the default ones. Error: an unknown name.
scenarios::Result<sim::ClusterSettings> cluster_settings(const scenarios::Values& values);

}  // namespace deadrank::runners
