// scenarios/format/json_text.h — JSON built from the inside out: just enough for the editor schema, in an
// order that never changes.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace deadrank::scenarios {

using JsonMembers = std::vector<std::pair<std::string, std::string>>;  // name → JSON

std::string json_string(std::string_view text);
std::string json_object(const JsonMembers& members);
std::string json_list(const std::vector<std::string>& items);  // of JSON
std::string json_strings(const std::vector<std::string>& texts);
std::string json_indented(std::string_view json);  // one member a line, for people and for diffs

}  // namespace deadrank::scenarios
