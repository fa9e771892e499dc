// results/detectors/setup_waits.cpp — Compares the members of a communicator with those that joined it, and
// follows a rank's waits to see whether they lead back to the set-up.
#include "results/detectors/setup_waits.h"

#include <algorithm>
#include <vector>

namespace deadrank::results::detectors {

std::set<Rank> find_members_that_never_joined(const Evidence& evidence, const analysis::Communicator& comm) {
    std::set<Rank> missing;
    for (const Rank rank : comm.ranks) {
        const Rank process = evidence.facts<analysis::Calls>().process_of(comm.attempt, rank);
        if (process != no_rank) missing.insert(process);
    }
    for (const analysis::Joining& joining : comm.joinings) missing.erase(joining.process);
    return missing;
}

bool is_held_by_call(const analysis::Waits& waits, Rank rank, const std::set<Rank>& at_setup, Time by) {
    const auto own = waits.waits().find(rank);
    if (own == waits.waits().end()) return false;
    if (std::any_of(own->second.begin(), own->second.end(),
                    [&](const analysis::Wait& wait) { return wait.since > by; }))
        return false;
    std::set<Rank> reached;
    std::vector<Rank> left = {rank};
    while (!left.empty()) {
        const Rank one = left.back();
        left.pop_back();
        if (at_setup.contains(one)) return false;
        const auto found = waits.waits().find(one);
        if (!reached.insert(one).second || found == waits.waits().end()) continue;
        for (const analysis::Wait& wait : found->second)
            left.insert(left.end(), wait.for_whom.begin(), wait.for_whom.end());
    }
    return true;
}

}  // namespace deadrank::results::detectors
