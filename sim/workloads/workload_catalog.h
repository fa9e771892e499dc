// sim/workloads/workload_catalog.h — Every workload that a scenario may name, and what its seams and blocks
// mean.
#pragma once

#include <string_view>
#include <vector>

#include "sim/workloads/settings.h"

namespace deadrank::sim {

struct WorkloadRow {
    WorkloadKind (*kind)();  // asked once
};

// In the order of scenarios/model/kind_ids.h.
const std::vector<WorkloadKind>& workload_catalog();
// The kind `recording`: what it does is in the scenario's file, so it is in no list of kinds that can be drawn.
const WorkloadKind& recorded_workload();
const WorkloadKind* find_workload(std::string_view name);  // nullptr when there is none

// ── What each seam and block of the workloads means, for those who bend and skip them from outside. A test
// holds the table and the workloads together.

struct CodePlace {
    std::string_view name;
    std::string_view meaning;  // a seam: the value and what it is without a fault; a block: what is left out
    std::string_view unit = {};  // of a seam that does not count something
};

// Sorted by name; a name means the same in every workload that has it.
const std::vector<CodePlace>& places();

// Empty where no workload publishes such a name.
std::string_view meaning_of_place(std::string_view name);
std::string_view unit_of_place(std::string_view name);

}  // namespace deadrank::sim
