// runners/find/defaults.cpp — Defaults as the vocabulary states them.
#include "runners/find/defaults.h"

#include <algorithm>

#include "scenarios/model/error.h"

namespace deadrank::runners::find {

using scenarios::Parameter;
using scenarios::Value;
using scenarios::Values;

std::optional<Value> default_of(const Parameter& parameter) {
    if (parameter.fallback.empty()) return std::nullopt;
    if (parameter.type == scenarios::ValueType::text || parameter.type == scenarios::ValueType::choice) {
        return Value{.type = parameter.type, .text = parameter.fallback};
    }
    const auto value = scenarios::parse_value(parameter.type, parameter.fallback);
    CHECK(value.has_value());
    return *value;
}

const Parameter* parameter_named(const std::vector<Parameter>& parameters, std::string_view name) {
    const auto found = std::find_if(parameters.begin(), parameters.end(),
                                    [&](const Parameter& one) { return one.name == name; });
    return found == parameters.end() ? nullptr : &*found;
}

Values stated(const Values& values, const std::vector<Parameter>& parameters) {
    Values kept;
    for (const auto& [name, value] : values) {
        const Parameter* parameter = parameter_named(parameters, name);
        const auto usual = parameter ? default_of(*parameter) : std::nullopt;
        if (!usual || !(*usual == value)) kept.emplace(name, value);
    }
    return kept;
}

Values defaults(const std::vector<Parameter>& parameters) {
    Values values;
    for (const Parameter& parameter : parameters) {
        if (auto usual = default_of(parameter)) values.emplace(parameter.name, std::move(*usual));
    }
    return values;
}

namespace {

// Shape, length and targets are counted for themselves.
std::size_t unusual(const Values& values, const std::vector<Parameter>& parameters) {
    std::size_t count = 0;
    for (const auto& [name, value] : stated(values, parameters)) {
        const bool target =
            value.type == scenarios::ValueType::ranks || value.type == scenarios::ValueType::nodes;
        const bool shape = name == "nodes" || name == "gpus_per_node" || name == "ranks" || name == "steps";
        if (!target && !shape) count += std::max<std::size_t>(value.table.size(), 1);
    }
    return count;
}

}  // namespace

PlanSize size_of(const scenarios::Plan& plan, const scenarios::Vocabulary& words) {
    PlanSize size{.faults = plan.faults.size(), .ranks = plan.world_size()};
    if (const auto steps = plan.workload.find("steps"); steps != plan.workload.end())
        size.steps = steps->second.number;
    size.stated = unusual(plan.cluster, scenarios::cluster_parameters());
    if (const auto* kind = words.workload(plan.workload_kind))
        size.stated += unusual(plan.workload, kind->parameters);
    for (const scenarios::FaultSpec& fault : plan.faults) {
        if (const auto* kind = words.fault(fault.kind))
            size.stated += unusual(fault.parameters, kind->parameters);
    }
    return size;
}

}  // namespace deadrank::runners::find
