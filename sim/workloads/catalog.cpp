// sim/workloads/catalog.cpp — The table of workloads: adding one is a file and a line here.
#include "sim/workloads/catalog.h"

#include <algorithm>
#include <array>

#include "sim/workloads/bodies.h"

namespace deadrank::sim {

namespace {

// A job has no fewer than one of each; whatever else is a number (a time, a size, a seed) is not negative,
// unless its own words say otherwise.
constexpr std::array<std::string_view, 18> one_at_least = {
    "steps",   "layers",  "width",       "batch",   "micro_batches", "samples",
    "buckets", "tp_size", "pp_size",     "cp_size", "ep_size",       "dp_size",
    "chunks",  "experts", "ranks_after", "tokens",  "stage",         "loss_scale"};

std::vector<WorkloadKind> bounded(std::vector<WorkloadKind> kinds) {
    for (WorkloadKind& kind : kinds) {
        for (scenarios::Parameter& parameter : kind.words.parameters) {
            if (parameter.least != INT64_MIN) continue;
            parameter.least = std::count(one_at_least.begin(), one_at_least.end(), parameter.name);
        }
    }
    return kinds;
}

}  // namespace

const std::vector<WorkloadKind>& workload_catalog() {
    static const std::vector<WorkloadKind> kinds = bounded({
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
    });
    return kinds;
}

const WorkloadKind* find_workload(std::string_view name) {
    for (const WorkloadKind& kind : workload_catalog()) {
        if (kind.words.name == name) return &kind;
    }
    return nullptr;
}

}  // namespace deadrank::sim
