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
constexpr std::array<std::string_view, 3> name_troubles = {"", "unresolvable", "unroutable"};

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

std::int64_t bent(std::int64_t value, const Bend& bend) {
    if (bend.set_it) return bend.set;
    __extension__ using Wide = __int128;
    const Wide exact = Wide{value} * bend.multiply / bend.divide + bend.add;
    const Wide least = std::numeric_limits<std::int64_t>::min();
    const Wide most = std::numeric_limits<std::int64_t>::max();
    return static_cast<std::int64_t>(exact < least ? least : exact > most ? most : exact);
}

}  // namespace deadrank::results
