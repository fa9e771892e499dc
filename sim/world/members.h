// sim/world/members.h — The ranks of a communicator in its order, and ranks as short text.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "results/record/time.h"

namespace deadrank::sim {

using results::Rank;

class Members {
public:
    Members() = default;
    Members(std::vector<Rank> ranks);  // NOLINT: a list is what most callers have
    Members(std::initializer_list<Rank> ranks) : Members(std::vector<Rank>(ranks)) {}
    // first, first + stride, …
    static Members range(Rank first, Rank count, Rank stride = 1);

    Rank size() const { return size_; }
    bool empty() const { return size_ == 0; }
    Rank operator[](Rank place) const;
    Rank place_of(Rank rank) const;  // the first such place; -1 when it is no member
    std::vector<Rank> list() const;
    std::string text() const;  // 0, 1, 2, 3, 6 is "0-3,6"

private:
    Rank first_ = 0;
    Rank stride_ = 1;
    Rank size_ = 0;
    std::shared_ptr<const std::vector<Rank>> list_;  // where distances differ
};

// Ranks in a given order as short text: 0, 1, 2, 3, 6 is "0-3,6".
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
