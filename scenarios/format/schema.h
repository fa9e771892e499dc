// scenarios/format/schema.h — The JSON schema of scenario files, for editors.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "scenarios/model/vocabulary.h"

namespace deadrank::scenarios {

// ── JSON built from the inside out: just enough for the editor schema, in an order that never changes.

using JsonMembers = std::vector<std::pair<std::string, std::string>>;  // name → JSON

std::string json_string(std::string_view text);
std::string json_object(const JsonMembers& members);
std::string json_list(const std::vector<std::string>& items);  // of JSON
std::string json_strings(const std::vector<std::string>& texts);
std::string json_indented(std::string_view json);  // one member per line, for people and for diffs

// The scenario format as a JSON Schema, for editors that complete and check TOML during typing (taplo, Even
// Better TOML). It knows every word the loader knows; what depends on the seed, only the loader can refuse.
// JSON Schema draft 7, indented. The same words give the same bytes.
std::string editor_schema(const Taxonomy& taxonomy, const Vocabulary& vocabulary);

// What each type takes: "#/definitions/duration" and so on, which parameter_schema refers to.
JsonMembers type_definitions();

// A declared parameter as JSON Schema: value, list of choices, range and unit.
std::string parameter_schema(const Parameter& parameter);

// Dotted names become nested objects, as TOML reads them.
JsonMembers parameter_properties(const std::vector<Parameter>& parameters);

}  // namespace deadrank::scenarios
