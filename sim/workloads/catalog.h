// sim/workloads/catalog.h — Every workload that a scenario may name: one line each in catalog.cpp.
#pragma once

#include <string_view>
#include <vector>

#include "scenarios/model/vocabulary.h"
#include "sim/workloads/settings.h"
#include "sim/world/world.h"

namespace deadrank::sim {

struct WorkloadKind {
    scenarios::Kind words;                  // name, parameters, seams and blocks
    void (*body)(World&, const Settings&);  // what each rank runs
};

const std::vector<WorkloadKind>& workload_catalog();
const WorkloadKind* find_workload(std::string_view name);

}  // namespace deadrank::sim
