// sim/workloads/catalog.h — Every workload that a scenario may name: one row each.
#pragma once

#include <string_view>
#include <vector>

#include "sim/workloads/settings.h"

namespace deadrank::sim {

// Every workload that a scenario may name: one line each in catalog.cpp.

const std::vector<WorkloadKind>& workload_catalog();
const WorkloadKind* find_workload(std::string_view name);

// The workloads, one function each: the words its scenario may use, and what each rank runs. Listed in
// catalog.cpp.

WorkloadKind data_parallel();
WorkloadKind zero();
WorkloadKind tensor_parallel();
WorkloadKind pipeline();
WorkloadKind expert_parallel();
WorkloadKind fsdp();
WorkloadKind context_parallel();
WorkloadKind mixed_precision();
WorkloadKind serving();
WorkloadKind reshard();

}  // namespace deadrank::sim
