// scenarios/format/parameter_schema.h — A declared parameter as JSON Schema: value, list of choices, range
// and unit.
#pragma once

#include <string>
#include <vector>

#include "scenarios/format/json_text.h"
#include "scenarios/model/vocabulary.h"

namespace deadrank::scenarios {

// What each type takes: "#/definitions/duration" and so on, which parameter_schema refers to.
JsonMembers type_definitions();

std::string parameter_schema(const Parameter& parameter);

// Dotted names become nested objects, as TOML reads them.
JsonMembers parameter_properties(const std::vector<Parameter>& parameters);

}  // namespace deadrank::scenarios
