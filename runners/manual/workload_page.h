// runners/manual/workload_page.h — One workload: its settings, seams and blocks, and what its ranks do in a
// step of a run that is played for the page.
#pragma once

#include <string>
#include <vector>

#include "sim/workloads/settings.h"

namespace deadrank::runners::manual {

// Markdown. The cluster of the played run is the default one.
std::string workload_page(const sim::WorkloadKind& kind);

// The settings that every training job has, with the defaults that they have there.
std::vector<scenarios::Parameter> settings_of_every_job();

}  // namespace deadrank::runners::manual
