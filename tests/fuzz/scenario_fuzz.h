// tests/fuzz/scenario_fuzz.h — What a fuzzed text is put through: read, resolved, written and read again. A
// broken promise stops the program.
#pragma once

#include <string>
#include <string_view>

#include "scenarios/format/plan_file.h"
#include "scenarios/format/scenario_file.h"
#include "scenarios/model/error.h"
#include "scenarios/model/plan.h"

namespace deadrank::fuzz {

inline void check_plan(const scenarios::Plan& plan, const scenarios::Taxonomy& taxonomy,
                       const scenarios::Vocabulary& vocabulary) {
    const auto back = scenarios::parse_plan(scenarios::to_toml(plan), "plan.toml", taxonomy, vocabulary);
    CHECK(back.has_value());
    CHECK(*back == plan);
}

// Whether the text was a scenario or a plan that can be meant.
inline bool read_scenario(std::string_view text, const scenarios::Taxonomy& taxonomy,
                          const scenarios::Vocabulary& vocabulary) {
    const auto plan = scenarios::parse_plan(text, "plan.toml", taxonomy, vocabulary);
    if (plan) check_plan(*plan, taxonomy, vocabulary);
    const auto scenario =
        scenarios::parse_scenario(text, "catalog/communication/fuzz.toml", taxonomy, vocabulary);
    if (!scenario) {
        CHECK(!scenario.error().text().empty());
        return plan.has_value();
    }
    const scenarios::Capabilities all{.levers = {"*"}, .workloads = {"*"}, .ranks_max = 4'096};
    const auto trial = scenarios::resolve(*scenario, {1}, all, vocabulary);
    if (trial) {
        check_plan(trial->fault, taxonomy, vocabulary);
        check_plan(trial->healed, taxonomy, vocabulary);
    }
    return true;
}

}  // namespace deadrank::fuzz
