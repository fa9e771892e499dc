// results/facts/own_devices.cpp — Ranks of a host are counted in the order of their numbers.
#include "results/facts/own_devices.h"

#include <set>

namespace deadrank::results {

OwnDevices::OwnDevices(const Evidence& evidence) {
    std::map<std::int32_t, std::set<Rank>> hosts;
    for (const Event* event : evidence.each<RankStart>())
        hosts[event->as<RankStart>()->node].insert(event->rank);
    for (const auto& [node, ranks] : hosts) {
        std::int32_t place = 0;
        for (const Rank rank : ranks) places_[rank] = place++;
    }
}

std::int32_t OwnDevices::of(Rank rank) const {
    const auto found = places_.find(rank);
    return found == places_.end() ? -1 : found->second;
}

}  // namespace deadrank::results
