// scenarios/model/nearest.h — How far apart two words are; nearest() in vocabulary.h chooses by it.
#pragma once

#include <cstddef>
#include <string_view>

namespace deadrank::scenarios {

// Letters changed, added, left out, or exchanged with a neighbour.
std::size_t edit_distance(std::string_view a, std::string_view b);

}  // namespace deadrank::scenarios
