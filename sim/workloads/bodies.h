// sim/workloads/bodies.h — The workloads, one function each: the words its scenario may use, and what each
// rank runs. Listed in catalog.cpp.
#pragma once

#include "sim/workloads/settings.h"

namespace deadrank::sim {

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
