// sim/world/rank_list.h — Ranks in a given order as short text: 0, 1, 2, 3, 6 is "0-3,6".
#pragma once

#include <string>
#include <vector>

#include "results/record/time.h"

namespace deadrank::sim {

inline std::string rank_list(const std::vector<results::Rank>& ranks) {
    std::string text;
    for (std::size_t i = 0; i < ranks.size();) {
        std::size_t last = i;
        while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
        if (!text.empty()) text += ',';
        text += std::to_string(ranks[i]);
        if (last > i) text += '-' + std::to_string(ranks[last]);
        i = last + 1;
    }
    return text;
}

}  // namespace deadrank::sim
