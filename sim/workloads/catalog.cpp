// sim/workloads/catalog.cpp — Every workload that a scenario may name: one row each.
#include "sim/workloads/catalog.h"

namespace deadrank::sim {

const std::vector<WorkloadKind>& workload_catalog() {
    static const std::vector<WorkloadKind> kinds = {
        data_parallel(),   zero(),   tensor_parallel(),  pipeline(),
        expert_parallel(), fsdp(),   context_parallel(), mixed_precision(),
        serving(),         reshard()};
    return kinds;
}

const WorkloadKind* find_workload(std::string_view name) {
    for (const WorkloadKind& kind : workload_catalog()) {
        if (kind.words.name == name) return &kind;
    }
    return nullptr;
}

}  // namespace deadrank::sim
