// sim/world/members.cpp — A list is examined once, when it is given.
#include "sim/world/members.h"

#include <algorithm>
#include <utility>

namespace deadrank::sim {

namespace {

bool equally_spaced(const std::vector<Rank>& ranks, Rank stride) {
    for (std::size_t i = 1; i < ranks.size(); ++i) {
        if (std::int64_t{ranks[i]} - ranks[i - 1] != stride) return false;
    }
    return true;
}

}  // namespace

Members::Members(std::vector<Rank> ranks) : size_(static_cast<Rank>(ranks.size())) {
    if (ranks.empty()) return;
    first_ = ranks.front();
    if (ranks.size() > 1) stride_ = static_cast<Rank>(std::int64_t{ranks[1]} - first_);
    if (stride_ == 0 || !equally_spaced(ranks, stride_))
        list_ = std::make_shared<const std::vector<Rank>>(std::move(ranks));
}

Members Members::range(Rank first, Rank count, Rank stride) {
    Members made;
    made.first_ = first;
    made.size_ = count;
    made.stride_ = stride;
    return made;
}

Rank Members::operator[](Rank place) const {
    return list_ ? (*list_)[static_cast<std::size_t>(place)] : first_ + place * stride_;
}

Rank Members::place_of(Rank rank) const {
    if (list_) {
        const auto found = std::find(list_->begin(), list_->end(), rank);
        return found == list_->end() ? -1 : static_cast<Rank>(found - list_->begin());
    }
    const std::int64_t distance = std::int64_t{rank} - first_;
    const std::int64_t place = distance / stride_;
    return distance % stride_ == 0 && place >= 0 && place < size_ ? static_cast<Rank>(place) : -1;
}

std::vector<Rank> Members::list() const {
    if (list_) return *list_;
    std::vector<Rank> ranks(static_cast<std::size_t>(size_));
    for (Rank place = 0; place < size_; ++place) ranks[static_cast<std::size_t>(place)] = (*this)[place];
    return ranks;
}

std::string Members::text() const {
    if (!list_ && stride_ == 1 && size_ > 1)
        return std::to_string(first_) + '-' + std::to_string(first_ + size_ - 1);
    return rank_list(list());
}

}  // namespace deadrank::sim
