// runners/find/pairwise.h — Few rows in which every two values of two factors meet at least once: most
// surprises need no more than two things at the same time.
#pragma once

#include <cstddef>
#include <vector>

namespace deadrank::runners::find {

// `levels`: how many values each factor has, none of them 0. Each row has one value index for each factor.
// Greedy (as AETG), and the same for the same levels; at least as many rows as the two largest factors need.
std::vector<std::vector<std::size_t>> pairwise(const std::vector<std::size_t>& levels);

}  // namespace deadrank::runners::find
