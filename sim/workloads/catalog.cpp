// sim/workloads/catalog.cpp — The table of workloads: adding one is a file and a line here.
#include "sim/workloads/catalog.h"

#include "sim/workloads/bodies.h"

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
