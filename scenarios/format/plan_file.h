// scenarios/format/plan_file.h — From a scenario to a plan, in which every choice is drawn from the seed and
// every default written down; a plan as TOML, there and back.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "scenarios/model/plan.h"

namespace deadrank::scenarios {

// The same plan gives the same bytes; they read back to the same plan. Errors of reading: as load(), and a
// value that is absent or left to chance.
std::string to_toml(const Plan& plan);
Result<Plan> load_plan(const std::filesystem::path& file, const Taxonomy&, const Vocabulary&);
Result<Plan> parse_plan(std::string_view toml, std::string_view name, const Taxonomy&, const Vocabulary&);
std::string digest(const Plan& plan);  // 16 hex digits of its TOML form

// ── Values and moments as a scenario's or a plan's TOML writes them.

std::string toml_literal(const Value& value);
std::string toml_duration(std::int64_t nanoseconds);  // "\"60s\""
std::string toml_trigger(const Trigger& when);        // "{ step = 3, before = \"send\" }"

// "name = value", one per line.
std::string toml_rows(const Values& values);

// Makes a plan of a scenario: every choice is drawn from the seed, every default written down.
// Errors: unsupported (lever, workload, size), bad_input (a rank outside the cluster, a step after the end,
// …).
Result<Trial> resolve(const Scenario& scenario, Seed seed, const Capabilities& capabilities,
                      const Vocabulary& vocabulary);

// The plan with these faults besides its own: ranks are drawn from its seed, defaults are written down.
// Errors: bad_input, for a fault that contradicts the plan, such as a rank outside the cluster.
Result<Plan> with_faults(Plan plan, const std::vector<FaultSettings>& faults, const Vocabulary& vocabulary);

}  // namespace deadrank::scenarios
