// scenarios/format/literal.h — Values and moments as a scenario's or a plan's TOML writes them.
#pragma once

#include <string>

#include "scenarios/model/plan.h"

namespace deadrank::scenarios {

std::string toml_literal(const Value& value);
std::string toml_duration(std::int64_t nanoseconds);  // "\"60s\""
std::string toml_trigger(const Trigger& when);        // "{ step = 3, before = \"send\" }"

// "name = value", one a line.
std::string toml_rows(const Values& values);

}  // namespace deadrank::scenarios
