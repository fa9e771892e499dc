// runners/find/defaults.h — A value that is its parameter's default needs no line in a scenario: the simplest
// value there is.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "scenarios/model/plan.h"

namespace deadrank::runners::find {

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

}  // namespace deadrank::runners::find
