// results/facts/lone_replicas.cpp — Replicas by their own word, and whether they had met before they gave it.
#include "results/facts/lone_replicas.h"

#include <algorithm>
#include <map>
#include <set>

#include "results/facts/meetings.h"

namespace deadrank::results::detectors {

namespace {

// The replicas of one group, as they call themselves, and when each said so first in training. Until then
// they need not have met: ranks that average their weights every few steps say it after that.
struct Replicas {
    std::set<Rank> ranks;
    std::map<Rank, Time> said;

    // When all had said so and ended their first step.
    Time all_said(const std::map<Rank, Time>& stepped) const {
        Time last{0};
        for (const Rank rank : ranks) {
            const auto step = stepped.find(rank), word = said.find(rank);
            if (step == stepped.end() || word == said.end()) return never;
            last = std::max({last, step->second, word->second});
        }
        return last;
    }
};

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
    std::map<Rank, Time> began, stepped;
    for (const Event* event : evidence.each<StepBegin>()) began.try_emplace(event->rank, event->at);
    for (const Event* event : evidence.each<StepEnd>()) stepped.try_emplace(event->rank, event->at);
    for (const Event* event : evidence.each<ParametersDigest>()) {
        Replicas& replicas = groups[evidence.text(event->as<ParametersDigest>()->group)];
        replicas.ranks.insert(event->rank);
        const auto training = began.find(event->rank);
        if (training != began.end() && event->at >= training->second)
            replicas.said.try_emplace(event->rank, event->at);
    }
    for (const auto& [group, replicas] : groups) {
        const Time until = replicas.all_said(stepped);
        if (replicas.ranks.size() < 2 || until == never) continue;
        const Meetings meetings(evidence, until);
        std::set<std::size_t> met;
        for (const Rank rank : replicas.ranks) met.insert(meetings.of(rank));
        if (met.size() < 2) continue;
        return LoneReplicas{group,
                            {replicas.ranks.begin(), replicas.ranks.end()},
                            met.size(),
                            until,
                            believes_to_be_alone(evidence, *replicas.ranks.begin())};
    }
    return std::nullopt;
}

}  // namespace deadrank::results::detectors
