// sim/workloads/workload_catalog.cpp — The workloads, made from the list of their names in
// scenarios/model/kind_ids.h.
#include "sim/workloads/workload_catalog.h"

#include "scenarios/model/kind_ids.h"

namespace deadrank::sim {

#define DEADRANK_DECLARE(id) extern const WorkloadRow id##_row;
#define DEADRANK_ROW(id) &id##_row,

DEADRANK_WORKLOADS(DEADRANK_DECLARE)

const std::vector<WorkloadKind>& workload_catalog() {
    static const std::vector<WorkloadKind> kinds = [] {
        std::vector<WorkloadKind> all;
        for (const WorkloadRow* row : {DEADRANK_WORKLOADS(DEADRANK_ROW)}) all.push_back(row->kind());
        return all;
    }();
    return kinds;
}

#undef DEADRANK_DECLARE
#undef DEADRANK_ROW

const WorkloadKind* find_workload(std::string_view name) {
    if (name == recorded_workload().words.name) return &recorded_workload();
    for (const WorkloadKind& kind : workload_catalog()) {
        if (kind.words.name == name) return &kind;
    }
    return nullptr;
}

}  // namespace deadrank::sim
