// scenarios/model/toml_text.h — Texts as TOML writes them.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace deadrank::scenarios {

std::string toml_text(std::string_view text);                               // "a\"b"
std::string toml_list(const std::vector<std::string>& texts);               // ["a", "b"]
std::string toml_table(const std::map<std::string, std::string>& members);  // { a = "b", "c d" = "e" }
std::string in_one_line(std::string_view text);                             // fit for a comment

}  // namespace deadrank::scenarios
