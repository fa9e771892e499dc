// scenarios/setting_reader.h — Reads settings by their declared parameters: concrete values, choices, ranges
// and selectors. Only for .cpp files of this room: it brings toml++.
#pragma once

#include "scenarios/scenario.h"
#include "scenarios/toml_reader.h"

namespace deadrank::scenarios {

// Reads every parameter that `reader`'s table holds, "a.b" from the inline table `a` too. Defaults are left
// to resolve().
Settings read_settings(TomlReader& reader, const std::vector<Parameter>& parameters, Problems& problems);

// One setting of a declared type. A text may be a range "3..9" or, for ranks and nodes, a selector such as
// "any 2".
Setting read_setting(const toml::node& node, const Parameter& parameter, Problems& problems);

// "any", "any 2", "any node", "any but 0", "all", "first", "last", "node 1", "others", "same".
bool is_selector(std::string_view text);

}  // namespace deadrank::scenarios
