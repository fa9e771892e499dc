// inject/standin/operators/addressed_list.h — A list whose entries are also found by an address.
#pragma once

#include <c10/util/SmallVector.h>
#include <cstddef>
#include <unordered_map>
#include <utility>

namespace deadrank::inject::standin::operators {

// Most calls have three tensors, so looking through all of them is fastest. Optimizers pass lists of a
// thousand: from `linear` entries on, a hash table answers.
template <class Entry>
class AddressedList {
public:
    Entry* find(const void* address) {
        if (entries_.size() <= linear) {
            for (auto& [key, entry] : entries_) {
                if (key == address) return &entry;
            }
            return nullptr;
        }
        for (; indexed_ < entries_.size(); ++indexed_) index_.try_emplace(entries_[indexed_].first, indexed_);
        const auto found = index_.find(address);
        return found == index_.end() ? nullptr : &entries_[found->second].second;
    }
    void add(const void* address, Entry entry) { entries_.emplace_back(address, std::move(entry)); }

    std::size_t size() const { return entries_.size(); }
    Entry& operator[](std::size_t i) { return entries_[i].second; }
    auto begin() { return entries_.begin(); }
    auto end() { return entries_.end(); }

private:
    static constexpr std::size_t linear = 16;
    c10::SmallVector<std::pair<const void*, Entry>, 6> entries_;
    std::unordered_map<const void*, std::size_t> index_;
    std::size_t indexed_ = 0;
};

}  // namespace deadrank::inject::standin::operators
