// scenarios/format/plan_file.h — A plan as TOML, there and back.
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

}  // namespace deadrank::scenarios
