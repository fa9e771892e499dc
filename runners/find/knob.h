// runners/find/knob.h — A value of a plan, addressed by its path: its default, its range, and the plan with
// another value.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/model/plan.h"

namespace deadrank::runners::find {

// A value equal to its parameter's default needs no line in a scenario.
// Nothing if the parameter has no default.
std::optional<scenarios::Value> default_of(const scenarios::Parameter& parameter);

const scenarios::Parameter* parameter_named(const std::vector<scenarios::Parameter>& parameters,
                                            std::string_view name);

// The values that differ from their defaults.
scenarios::Values stated(const scenarios::Values& values,
                         const std::vector<scenarios::Parameter>& parameters);

// All defaults.
scenarios::Values defaults(const std::vector<scenarios::Parameter>& parameters);

// How much there is to read in a plan. Compared member by member, in this order.
struct PlanSize {
    std::size_t faults = 0;
    std::int64_t ranks = 0, steps = 0;
    std::size_t stated = 0;  // values of cluster, workload and faults that are not defaults

    auto operator<=>(const PlanSize&) const = default;
};
PlanSize size_of(const scenarios::Plan& plan, const scenarios::Vocabulary& words);

// One number of a plan to vary, by its path, and its range.
struct Knob {
    std::string path;  // "slow_rank.factor", "kill_rank.ranks", "workload.layers"
    scenarios::ValueType type = scenarios::ValueType::integer;
    std::function<void(scenarios::Plan&, std::int64_t)> turn;

    std::string text(std::int64_t magnitude) const;  // with its unit
    std::int64_t finest() const;                     // the smallest step worth writing
};

// FAULT.PARAMETER, FAULT.lasts, FAULT.step or FAULT.ranks (how many it hits), where FAULT is a kind or a
// number from 1; workload.NAME; cluster.NAME. Errors: usage, for a path that is not a number of this plan.
scenarios::Result<Knob> find_knob(const std::string& path, const scenarios::Plan& plan,
                                  const scenarios::Vocabulary& words);

bool is_number(scenarios::ValueType type);  // one that can be varied gradually

struct Range {
    std::int64_t low = 0, high = 0;
};

// "1x..4x", in the knob's own units. Errors: usage.
scenarios::Result<Range> parse_range(const std::string& text, scenarios::ValueType type);

}  // namespace deadrank::runners::find
