// runners/find/knob.cpp — A value of a plan, addressed by its path: its default, its range, and the plan with
// another value.
#include "runners/find/knob.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <optional>

#include "scenarios/model/error.h"
#include "scenarios/model/value.h"

namespace deadrank::runners::find {

// ── Defaults as the vocabulary states them.

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

// Without shape, length and targets, which are counted separately.
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

// ── Paths to numbers.

namespace {

using scenarios::ErrorCode;
using scenarios::Parameter;
using scenarios::Plan;
using scenarios::refuse;
using scenarios::Result;
using scenarios::Value;
using scenarios::Values;
using scenarios::ValueType;

std::vector<std::string> numbers_of(const std::vector<Parameter>& parameters) {
    std::vector<std::string> names;
    for (const Parameter& parameter : parameters) {
        if (is_number(parameter.type)) names.push_back(parameter.name);
    }
    return names;
}

tl::unexpected<scenarios::Error> no_number(const std::string& path, const std::vector<std::string>& known) {
    return refuse(ErrorCode::usage, fmt::format("'{}' is not a number that can be varied here", path),
                  known.empty() ? "write FAULT.PARAMETER, workload.NAME or cluster.NAME"
                                : fmt::format("there are {}", fmt::join(known, ", ")));
}

Result<Knob> value_knob(const std::string& path, const std::string& name,
                        const std::vector<Parameter>& parameters,
                        const std::function<Values&(Plan&)>& place) {
    const Parameter* parameter = parameter_named(parameters, name);
    if (!parameter || !is_number(parameter->type)) return no_number(path, numbers_of(parameters));
    const ValueType type = parameter->type;
    return Knob{path, type, [place, name, type](Plan& plan, std::int64_t magnitude) {
                    place(plan)[name] = Value{.type = type, .number = magnitude};
                }};
}

std::optional<std::size_t> fault_named(const std::string& name, const Plan& plan) {
    if (const auto number = scenarios::parse_whole(name)) {
        if (*number < 1 || static_cast<std::size_t>(*number) > plan.faults.size()) return std::nullopt;
        return static_cast<std::size_t>(*number - 1);
    }
    for (std::size_t i = 0; i < plan.faults.size(); ++i) {
        if (plan.faults[i].kind == name) return i;
    }
    return std::nullopt;
}

// Aims the fault at `count` ranks, from its first one on.
void touch(Plan& plan, std::size_t fault, std::int64_t count) {
    std::vector<std::int64_t>& ranks = plan.faults[fault].parameters["rank"].list;
    const std::int64_t all = plan.world_size();
    const std::int64_t first = ranks.empty() ? 0 : ranks.front();
    ranks.clear();
    for (std::int64_t i = 0; i < std::min(count, all); ++i) ranks.push_back((first + i) % all);
    std::sort(ranks.begin(), ranks.end());
}

Result<Knob> fault_knob(const std::string& path, const std::string& name, std::size_t fault, const Plan& plan,
                        const scenarios::Vocabulary& words) {
    if (name == "lasts")
        return Knob{path, ValueType::duration,
                    [fault](Plan& one, std::int64_t magnitude) { one.faults[fault].when.lasts = magnitude; }};
    if (name == "step")
        return Knob{path, ValueType::integer,
                    [fault](Plan& one, std::int64_t magnitude) { one.faults[fault].when.step = magnitude; }};
    if (name == "ranks" && plan.faults[fault].parameters.count("rank") > 0)
        return Knob{path, ValueType::integer,
                    [fault](Plan& one, std::int64_t magnitude) { touch(one, fault, magnitude); }};
    const auto* kind = words.fault(plan.faults[fault].kind);
    const std::vector<Parameter> none;
    return value_knob(path, name, kind ? kind->parameters : none,
                      [fault](Plan& one) -> Values& { return one.faults[fault].parameters; });
}

}  // namespace

std::string Knob::text(std::int64_t magnitude) const {
    return scenarios::value_text({.type = type, .number = magnitude});
}

std::int64_t Knob::finest() const {
    switch (type) {
        case ValueType::duration:
            return 1'000;  // a microsecond
        case ValueType::factor:
            return 10;  // 0.01x
        case ValueType::ratio:
            return 1'000;  // a millionth
        default:
            return 1;
    }
}

Result<Knob> find_knob(const std::string& path, const Plan& plan, const scenarios::Vocabulary& words) {
    const std::size_t dot = path.find('.');
    const std::string head = path.substr(0, std::min(dot, path.size()));
    const std::string name = dot == std::string::npos ? "" : path.substr(dot + 1);
    if (head == "cluster")
        return value_knob(path, name, scenarios::cluster_parameters(),
                          [](Plan& one) -> Values& { return one.cluster; });
    if (head == "workload") {
        const auto* kind = words.workload(plan.workload_kind);
        const std::vector<Parameter> none;
        return value_knob(path, name, kind ? kind->parameters : none,
                          [](Plan& one) -> Values& { return one.workload; });
    }
    if (const auto fault = fault_named(head, plan)) return fault_knob(path, name, *fault, plan, words);
    std::vector<std::string> kinds;
    for (const auto& fault : plan.faults) kinds.push_back(fault.kind);
    return refuse(
        ErrorCode::usage, fmt::format("'{}' names no fault of this plan", head),
        fmt::format("it has {}; workload.NAME and cluster.NAME can be varied too", fmt::join(kinds, ", ")));
}

Result<Range> parse_range(const std::string& text, ValueType type) {
    const std::size_t dots = text.find("..");
    const auto low = scenarios::parse_value(type, text.substr(0, std::min(dots, text.size())));
    const auto high = dots == std::string::npos ? low : scenarios::parse_value(type, text.substr(dots + 2));
    if (!low) return tl::unexpected(low.error());
    if (!high) return tl::unexpected(high.error());
    if (low->number >= high->number || low->number < 0)
        return refuse(ErrorCode::usage, fmt::format("'{}' is not a range", text),
                      "write it as A..B with A below B, in the parameter's units");
    return Range{low->number, high->number};
}

bool is_number(ValueType type) {
    return type == ValueType::integer || type == ValueType::duration || type == ValueType::bytes ||
           type == ValueType::rate || type == ValueType::ratio || type == ValueType::factor;
}

}  // namespace deadrank::runners::find
