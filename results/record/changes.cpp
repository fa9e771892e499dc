// results/record/changes.cpp — Names of the kinds of trouble, and the result of bending a value.
#include "results/record/changes.h"

#include <array>
#include <limits>

namespace deadrank::results {

namespace {

// In the order of their enumerations.
constexpr std::array<std::string_view, 11> storage_troubles = {
    "", "flip", "truncate", "tear", "lose", "stale", "swap", "delete", "slow", "full", "read_only"};
constexpr std::array<std::string_view, 7> store_troubles = {"",     "mute",   "refuse", "cut",
                                                            "late", "narrow", "flip"};
constexpr std::array<std::string_view, 4> name_troubles = {"", "unresolvable", "unroutable", "loopback"};

template <class Trouble, std::size_t n>
Trouble trouble_named(const std::array<std::string_view, n>& names, std::string_view name) {
    for (std::size_t i = 0; i < n; ++i) {
        if (names[i] == name) return static_cast<Trouble>(i);
    }
    return Trouble::none;
}

}  // namespace

std::string_view name_of(StorageTrouble trouble) {
    return storage_troubles[static_cast<std::size_t>(trouble)];
}
std::string_view name_of(StoreTrouble trouble) { return store_troubles[static_cast<std::size_t>(trouble)]; }
std::string_view name_of(NameTrouble trouble) { return name_troubles[static_cast<std::size_t>(trouble)]; }

StorageTrouble storage_trouble_named(std::string_view name) {
    return trouble_named<StorageTrouble>(storage_troubles, name);
}
StoreTrouble store_trouble_named(std::string_view name) {
    return trouble_named<StoreTrouble>(store_troubles, name);
}
NameTrouble name_trouble_named(std::string_view name) {
    return trouble_named<NameTrouble>(name_troubles, name);
}

bool ValueCheck::fits(std::int64_t value, std::int64_t other) const {
    switch (refuses) {
        case Relation::above:
            return value > other;
        case Relation::below:
            return value < other;
        case Relation::equal:
            return value == other;
        case Relation::other_than:
            return value != other;
        case Relation::no_multiple_of:
            return other == 0 || value % other != 0;
        case Relation::no_divisor_of:
            return value == 0 || other % value != 0;
    }
    return false;
}

std::string ValueCheck::words(std::int64_t value, std::int64_t other) const {
    std::string text = says;
    const auto fill = [&](std::string_view gap, std::int64_t number) {
        for (std::size_t at = text.find(gap); at != std::string::npos; at = text.find(gap, at))
            text.replace(at, gap.size(), std::to_string(number));
    };
    fill("{value}", value);
    fill("{than}", other);
    return text;
}

const std::vector<std::string>& relation_words() {
    static const std::vector<std::string> words = {"above",      "below",          "equal",
                                                   "other_than", "no_multiple_of", "no_divisor_of"};
    return words;
}

std::int64_t bent(std::int64_t value, const Bend& bend) {
    if (bend.set_it) return bend.set;
    __extension__ using Wide = __int128;
    const Wide exact = Wide{value} * bend.multiply / bend.divide + bend.add;
    const Wide least = std::numeric_limits<std::int64_t>::min();
    const Wide most = std::numeric_limits<std::int64_t>::max();
    return static_cast<std::int64_t>(exact < least ? least : exact > most ? most : exact);
}

}  // namespace deadrank::results
