// runners/find/knob.h — A value of a plan by its path: its default, its range, and the plan with another
// value.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/model/plan.h"

namespace deadrank::runners::find {

// A value that is its parameter's default needs no line in a scenario: the simplest value there is.

// Nothing for a parameter that has none.
std::optional<scenarios::Value> default_of(const scenarios::Parameter& parameter);

const scenarios::Parameter* parameter_named(const std::vector<scenarios::Parameter>& parameters,
                                            std::string_view name);

// Those that differ from their defaults.
scenarios::Values stated(const scenarios::Values& values,
                         const std::vector<scenarios::Parameter>& parameters);

// Every default that there is.
scenarios::Values defaults(const std::vector<scenarios::Parameter>& parameters);

// How much there is to read in a plan; smaller in the first of these that differs is simpler.
struct PlanSize {
    std::size_t faults = 0;
    std::int64_t ranks = 0, steps = 0;
    std::size_t stated = 0;  // values other than their defaults, of cluster, workload and faults

    auto operator<=>(const PlanSize&) const = default;
};
PlanSize size_of(const scenarios::Plan& plan, const scenarios::Vocabulary& words);

// One number of a plan that is to be varied, by its path, and the range it goes through.

struct Knob {
    std::string path;  // "slow_rank.factor", "kill_rank.ranks", "workload.layers"
    scenarios::ValueType type = scenarios::ValueType::integer;
    std::function<void(scenarios::Plan&, std::int64_t)> turn;

    std::string text(std::int64_t magnitude) const;  // with its unit
    std::int64_t finest() const;                     // the step below which nobody would say it
};

// FAULT.PARAMETER, FAULT.lasts, FAULT.step or FAULT.ranks (how many it touches), where FAULT is a kind or a
// number from 1; workload.NAME; cluster.NAME. Errors: usage, for a path that means no number of this plan.
scenarios::Result<Knob> find_knob(const std::string& path, const scenarios::Plan& plan,
                                  const scenarios::Vocabulary& words);

bool is_number(scenarios::ValueType type);  // one that can be varied by and by

struct Range {
    std::int64_t low = 0, high = 0;
};

// "1x..4x", in the knob's own units. Errors: usage.
scenarios::Result<Range> parse_range(const std::string& text, scenarios::ValueType type);

}  // namespace deadrank::runners::find
