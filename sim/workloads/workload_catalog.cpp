// sim/workloads/workload_catalog.cpp — The workloads, one line each.
#include "sim/workloads/workload_catalog.h"

namespace deadrank::sim {

extern const WorkloadRow data_parallel_row, zero_row, tensor_parallel_row, pipeline_row, expert_parallel_row,
    fsdp_row, context_parallel_row, mixed_precision_row, serving_row, reshard_row, elastic_row;

const std::vector<WorkloadKind>& workload_catalog() {
    static const std::vector<WorkloadKind> kinds = [] {
        std::vector<WorkloadKind> all;
        for (const WorkloadRow* row : {
                 &data_parallel_row,
                 &zero_row,
                 &tensor_parallel_row,
                 &pipeline_row,
                 &expert_parallel_row,
                 &fsdp_row,
                 &context_parallel_row,
                 &mixed_precision_row,
                 &serving_row,
                 &reshard_row,
                 &elastic_row,
             })
            all.push_back(row->kind());
        return all;
    }();
    return kinds;
}

const WorkloadKind* find_workload(std::string_view name) {
    for (const WorkloadKind& kind : workload_catalog()) {
        if (kind.words.name == name) return &kind;
    }
    return nullptr;
}

}  // namespace deadrank::sim
