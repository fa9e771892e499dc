// scenarios/model/text.h — Pieces of lines, and how far apart two words are.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace deadrank::scenarios {

// The parts between separators, empty ones too: one more than there are separators.
std::vector<std::string_view> parts_of(std::string_view text, char separator);

// The line without the blanks around it.
std::string_view trimmed(std::string_view line);

// Letters changed, added, left out, or exchanged with a neighbour. nearest() in vocabulary.h chooses by it.
std::size_t edit_distance(std::string_view a, std::string_view b);

}  // namespace deadrank::scenarios
