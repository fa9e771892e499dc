// runners/find/pass_kinds.cpp — A plainer fault in place of a special one, a plain training in place of a
// special one.
#include <algorithm>
#include <array>

#include "runners/find/defaults.h"
#include "runners/find/passes.h"

namespace deadrank::runners::find {

using scenarios::FaultSpec;
using scenarios::Plan;
using scenarios::Values;
using scenarios::ValueType;

namespace {

// The plainest first. Whatever is not in the list is more special than all of it.
constexpr std::array<std::string_view, 6> plain = {"kill_rank", "stop_rank",        "skip_collective",
                                                   "slow_rank", "delay_collective", "drop_link"};
constexpr std::string_view plain_workload = "data_parallel";

const scenarios::Value* ranks_or_nodes(const FaultSpec& fault, ValueType type) {
    for (const auto& [name, value] : fault.parameters) {
        if (value.type == type) return &value;
    }
    return nullptr;
}

// The same place and moment; everything else as usual. Nothing where the kinds aim at different things.
bool recast(const FaultSpec& from, const scenarios::Kind& to, std::int64_t gpus, FaultSpec& result) {
    result = {.kind = to.name, .parameters = defaults(to.parameters), .when = from.when};
    if (!to.at_start) result.when.at_start = false;
    for (const auto& parameter : to.parameters) {
        if (result.parameters.count(parameter.name) > 0 || parameter.optional) continue;
        const auto* value = ranks_or_nodes(from, parameter.type);
        if (value) {
            result.parameters.emplace(parameter.name, *value);
            continue;
        }
        const auto* nodes = ranks_or_nodes(from, ValueType::nodes);
        if (parameter.type != ValueType::ranks || !nodes || nodes->list.empty()) return false;
        result.parameters.emplace(
            parameter.name, scenarios::Value{.type = ValueType::ranks, .list = {nodes->list.front() * gpus}});
    }
    return true;
}

bool plainer_fault(Reduction& reduction, std::size_t index) {
    for (const std::string_view kind : plain) {
        const FaultSpec& now = reduction.plan().faults[index];
        if (now.kind == kind) return false;
        const auto* words = reduction.words().fault(kind);
        Plan candidate = reduction.plan();
        const std::int64_t gpus = candidate.number(candidate.cluster, "gpus_per_node");
        if (words && recast(now, *words, gpus, candidate.faults[index]) &&
            reduction.take(std::move(candidate))) {
            return true;
        }
    }
    return false;
}

// What both trainings know keeps its value.
bool plainer_workload(Reduction& reduction) {
    const auto* kind = reduction.words().workload(plain_workload);
    if (!kind || reduction.plan().workload_kind == plain_workload) return false;
    Plan candidate = reduction.plan();
    candidate.workload_kind = plain_workload;
    candidate.workload = defaults(kind->parameters);
    for (auto& [name, value] : candidate.workload) {
        const auto old = reduction.plan().workload.find(name);
        if (old != reduction.plan().workload.end() && old->second.type == value.type) value = old->second;
    }
    return reduction.take(std::move(candidate));
}

}  // namespace

bool simpler_kinds(Reduction& reduction) {
    bool any = plainer_workload(reduction);
    for (std::size_t fault = 0; fault < reduction.plan().faults.size(); ++fault) {
        any = plainer_fault(reduction, fault) || any;
    }
    return any;
}

}  // namespace deadrank::runners::find
