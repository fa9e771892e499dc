// tests/fuzz/scenario_words.h — What a scenario's or a plan's text may name here, and the promise of every
// plan.
#pragma once

#include "runners/extension/extension.h"
#include "scenarios/format/plan_file.h"
#include "scenarios/format/taxonomy_file.h"

namespace deadrank::fuzz {

inline const scenarios::Taxonomy& taxonomy() {
    static const auto taxonomy =
        scenarios::load_taxonomy(DEADRANK_SOURCE_DIRECTORY "/scenarios/taxonomy.toml").value();
    return taxonomy;
}

inline const scenarios::Vocabulary& vocabulary() {
    static const auto vocabulary = runners::vocabulary();
    return vocabulary;
}

inline void check_round_trip(const scenarios::Plan& plan) {
    const auto back = scenarios::parse_plan(scenarios::to_toml(plan), "plan.toml", taxonomy(), vocabulary());
    CHECK(back.has_value());
    CHECK(*back == plan);
}

}  // namespace deadrank::fuzz
