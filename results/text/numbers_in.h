// results/text/numbers_in.h — Ranks as other people's tools print them.
#pragma once

#include <string_view>
#include <vector>

#include "results/record/time.h"

namespace deadrank::results {

// All whole numbers of a text such as "{2, 3}" or "({'5'})", in its order.
std::vector<Rank> numbers_in(std::string_view text);

}  // namespace deadrank::results
