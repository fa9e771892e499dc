// sim/workloads/workload_catalog.h — Every workload that a scenario may name. A workload is one file in this
// folder, with a row at its end: the words that its scenario may use, and what each rank runs.
#pragma once

#include <string_view>
#include <vector>

#include "sim/workloads/settings.h"

namespace deadrank::sim {

struct WorkloadRow {
    WorkloadKind (*kind)();  // asked once
};

// In the order of catalog.cpp.
const std::vector<WorkloadKind>& workload_catalog();
const WorkloadKind* find_workload(std::string_view name);  // nullptr when there is none

}  // namespace deadrank::sim
