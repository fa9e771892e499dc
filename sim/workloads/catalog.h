// sim/workloads/catalog.h — Every workload that a scenario may name: one line each in catalog.cpp.
#pragma once

#include <string_view>
#include <vector>

#include "sim/workloads/settings.h"

namespace deadrank::sim {

const std::vector<WorkloadKind>& workload_catalog();
const WorkloadKind* find_workload(std::string_view name);

}  // namespace deadrank::sim
