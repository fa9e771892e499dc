// sim/workloads/catalog.cpp — The table of workloads: adding one is a file and a line here.
#include "sim/workloads/catalog.h"

#include "sim/workloads/bodies.h"

namespace deadrank::sim {

const std::vector<WorkloadKind>& workload_catalog() {
    static const std::vector<WorkloadKind> kinds = {
        {data_parallel_words(), data_parallel},
        {zero_words(), zero},
        {tensor_parallel_words(), tensor_parallel},
        {pipeline_words(), pipeline},
        {expert_parallel_words(), expert_parallel},
        {fsdp_words(), fsdp},
        {context_parallel_words(), context_parallel},
        {mixed_precision_words(), mixed_precision},
        {serving_words(), serving},
        {reshard_words(), reshard},
    };
    return kinds;
}

const WorkloadKind* find_workload(std::string_view name) {
    for (const WorkloadKind& kind : workload_catalog()) {
        if (kind.words.name == name) return &kind;
    }
    return nullptr;
}

}  // namespace deadrank::sim
