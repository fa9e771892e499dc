// results/facts/lone_replicas.cpp — One step's calls as a graph of processes, whose connected parts are
// counted.
#include "results/facts/lone_replicas.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "results/facts/calls.h"
#include "results/facts/lives.h"

namespace deadrank::results::detectors {

namespace {

// Which processes have met in some call, directly or through others.
class Parts {
public:
    explicit Parts(std::size_t count) : above_(count) { std::iota(above_.begin(), above_.end(), 0); }

    std::size_t of(std::size_t one) {
        while (above_[one] != one) one = above_[one] = above_[above_[one]];
        return one;
    }
    void join(std::size_t a, std::size_t b) { above_[of(a)] = of(b); }

private:
    std::vector<std::size_t> above_;
};

// The replicas of one group, as they call themselves, and when the last of them had ended its first step.
struct Replicas {
    std::set<Rank> ranks;
    std::map<Rank, Time> stepped;

    Time all_stepped() const {
        Time last{0};
        for (const Rank rank : ranks) {
            const auto found = stepped.find(rank);
            if (found == stepped.end()) return never;
            last = std::max(last, found->second);
        }
        return last;
    }
};

// By the calls from the first step's begin to `until`: meeting in set-up is not training together.
Parts parts_of(const Evidence& evidence, Time until) {
    const auto steps = evidence.each<StepBegin>();
    const Time from = steps.empty() ? Time{0} : steps.front()->at;
    const Calls& calls = evidence.facts<Calls>();
    Parts parts(static_cast<std::size_t>(evidence.facts<Lives>().count()));
    for (const Communicator& comm : calls.communicators()) {
        for (const auto& [seq, collective] : comm.collectives) {
            Rank first = no_rank;
            for (std::size_t place = 0; place < collective.calls.size() && place < comm.processes.size();
                 ++place) {
                const Rank process = comm.processes[place];
                const Call& call = collective.calls[place];
                if (process == no_rank || !call.what || call.entered < from || call.entered > until) continue;
                if (first == no_rank) first = process;
                parts.join(static_cast<std::size_t>(first), static_cast<std::size_t>(process));
            }
        }
    }
    for (const Event* event : evidence.each<P2pEnter>()) {
        const auto* call = event->as<P2pEnter>();
        const Communicator* comm = calls.find(evidence.facts<Lives>().attempt_at(event->at), call->comm);
        const auto place = static_cast<std::size_t>(call->peer);
        if (event->at < from || event->at > until) continue;
        if (!comm || call->peer < 0 || place >= comm->processes.size() || comm->processes[place] == no_rank)
            continue;
        parts.join(static_cast<std::size_t>(event->rank), static_cast<std::size_t>(comm->processes[place]));
    }
    return parts;
}

bool believes_to_be_alone(const Evidence& evidence, Rank rank) {
    for (const Event* event : evidence.each<RankConfig>()) {
        const auto* config = event->as<RankConfig>();
        if (event->rank == rank && evidence.text(config->name) == "world_size")
            return evidence.text(config->value) == "1";
    }
    return false;
}

}  // namespace

std::optional<LoneReplicas> lone_replicas(const Evidence& evidence) {
    std::map<std::string_view, Replicas> groups;
    std::map<Rank, Time> stepped;
    for (const Event* event : evidence.each<StepEnd>()) stepped.try_emplace(event->rank, event->at);
    for (const Event* event : evidence.each<ParametersDigest>()) {
        groups[evidence.text(event->as<ParametersDigest>()->group)].ranks.insert(event->rank);
    }
    for (auto& [group, replicas] : groups) {
        replicas.stepped = stepped;
        const Time until = replicas.all_stepped();
        if (replicas.ranks.size() < 2 || until == never) continue;
        Parts parts = parts_of(evidence, until);
        std::set<std::size_t> roots;
        for (const Rank rank : replicas.ranks) roots.insert(parts.of(static_cast<std::size_t>(rank)));
        if (roots.size() < 2) continue;
        return LoneReplicas{group,
                            {replicas.ranks.begin(), replicas.ranks.end()},
                            roots.size(),
                            until,
                            believes_to_be_alone(evidence, *replicas.ranks.begin())};
    }
    return std::nullopt;
}

}  // namespace deadrank::results::detectors
