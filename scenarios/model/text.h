// scenarios/model/text.h — Text for people: quoting, parts, the nearest known word, the comment that opens a
// file.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace deadrank::scenarios {

// ── Texts as TOML writes them.

std::string toml_text(std::string_view text);                               // "a\"b"
std::string toml_list(const std::vector<std::string>& texts);               // ["a", "b"]
std::string toml_table(const std::map<std::string, std::string>& members);  // { a = "b", "c d" = "e" }
std::string in_one_line(std::string_view text);                             // fit for a comment

// The parts between separators, empty ones too: one more than there are separators.
std::vector<std::string_view> parts_of(std::string_view text, char separator);

// The line without the blanks around it.
std::string_view trimmed(std::string_view line);

// How far apart two words are; nearest() in vocabulary.h chooses by it.
// Letters changed, added, left out, or exchanged with a neighbour.
std::size_t edit_distance(std::string_view a, std::string_view b);

// The comment that opens a scenario file is its story, for people: `explain` and `learn` show it.
// Without '#' and without a first line that only names the file; lines are joined, paragraphs kept apart.
std::string story_of(std::string_view text);

}  // namespace deadrank::scenarios
