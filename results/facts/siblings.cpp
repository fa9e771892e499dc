// results/facts/siblings.cpp — Only asked about one group that stands still, so each list is made
// anew.
#include "results/facts/siblings.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>

#include "results/facts/lives.h"

namespace deadrank::results::detectors {

namespace {

using CallList = std::vector<std::tuple<std::string_view, Op, std::int32_t>>;  // the last is a message's peer
constexpr std::size_t groups_max = 64;  // so many siblings tell as much as all

class Lists {
public:
    Lists(const Evidence& evidence, int attempt, Time when, const std::vector<Rank>& of_whom) {
        for (const Rank rank : of_whom) lists_[rank];
        const Lives& lives = evidence.facts<Lives>();
        const Calls& calls = evidence.facts<Calls>();
        const auto add = [&](const Event& event, CommId id, Op op, std::int32_t peer) {
            const auto list = lists_.find(event.rank);
            if (list == lists_.end() || event.at > when || lives.attempt_at(event.at) != attempt) return;
            const Communicator* comm = calls.find(attempt, id);
            list->second.emplace_back(comm ? comm->name : std::string_view(), op, peer);
        };
        for (const Event& event : evidence.events()) {
            if (const auto* enter = event.as<CollectiveEnter>()) add(event, enter->comm, enter->op, -1);
            if (const auto* enter = event.as<P2pEnter>()) add(event, enter->comm, enter->op, enter->peer);
        }
    }

    // Is one of the two the beginning of the other?
    bool alike(Rank one, Rank other) const {
        const CallList &a = lists_.at(one), &b = lists_.at(other);
        const std::size_t both = std::min(a.size(), b.size());
        return std::equal(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(both), b.begin());
    }

private:
    std::map<Rank, CallList> lists_;
};

std::vector<const Communicator*> siblings_of(const Evidence& evidence, const Communicator& comm) {
    std::vector<const Communicator*> siblings;
    for (const Communicator& other : evidence.facts<Calls>().communicators()) {
        const bool sibling = other.attempt == comm.attempt && other.name == comm.name &&
                             other.id != comm.id && other.processes.size() == comm.processes.size();
        if (sibling && siblings.size() < groups_max) siblings.push_back(&other);
    }
    return siblings;
}

}  // namespace

std::vector<Rank> unlike_siblings(const Evidence& evidence, const Communicator& comm, Time when) {
    const auto siblings = siblings_of(evidence, comm);
    if (siblings.empty()) return {};
    std::vector<Rank> whom;
    const auto add = [&](const Communicator& one) {
        for (const Rank process : one.processes) {
            if (process != no_rank) whom.push_back(process);
        }
    };
    add(comm);
    for (const Communicator* sibling : siblings) add(*sibling);
    const Lists lists(evidence, comm.attempt, when, whom);
    std::vector<Rank> unlike;
    for (std::size_t place = 0; place < comm.processes.size(); ++place) {
        const Rank process = comm.processes[place];
        const bool parts = std::all_of(siblings.begin(), siblings.end(), [&](const Communicator* sibling) {
            const Rank other = sibling->processes[place];
            return other != no_rank && !lists.alike(process, other);
        });
        if (process != no_rank && parts) unlike.push_back(process);
    }
    return unlike.size() < comm.processes.size() ? unlike : std::vector<Rank>{};
}

}  // namespace deadrank::results::detectors
