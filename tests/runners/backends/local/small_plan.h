// tests/runners/backends/local/small_plan.h — A healthy job of few ranks and few steps, to which a test adds
// its fault.
#pragma once

#include <cstdint>
#include <string>

#include "scenarios/model/plan.h"

namespace deadrank::runners {

inline scenarios::Value whole(std::int64_t value) {
    return {.type = scenarios::ValueType::integer, .number = value};
}

inline scenarios::Plan small_plan(const std::string& workload, std::int64_t nodes, std::int64_t ranks,
                                  std::int64_t steps) {
    scenarios::Plan plan;
    plan.scenario = "test";
    plan.workload_kind = workload;
    plan.cluster["nodes"] = whole(nodes);
    plan.cluster["ranks"] = whole(ranks);
    plan.cluster["gpus_per_node"] = whole(ranks / nodes);
    plan.workload["steps"] = whole(steps);
    return plan;
}

}  // namespace deadrank::runners
