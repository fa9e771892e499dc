// results/detectors/replica_divergence.cpp — Ranks that must hold the same data hold different data. Judged
// at the first step at which a group disagrees: the majority decides which ranks are odd; in a pair, or
// without a majority, all are named.
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <tuple>

#include "results/analysis/findings.h"
#include "results/detectors/detector.h"

namespace deadrank::results::detectors {

using namespace analysis;

namespace {

struct Group {
    std::vector<const Event*> digests;
    bool differ = false;
};

std::uint64_t digest_of(const Event* event) { return event->as<ParametersDigest>()->digest; }

// The ranks that do not hold what most hold; all of them, without a majority.
std::vector<Rank> odd_replicas_in(const Group& group) {
    std::map<std::uint64_t, std::size_t> votes;
    for (const Event* event : group.digests) ++votes[digest_of(event)];
    const auto most = std::max_element(votes.begin(), votes.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    const bool majority = most->second * 2 > group.digests.size();
    std::vector<Rank> odd;
    for (const Event* event : group.digests) {
        if (!majority || digest_of(event) != most->first) odd.push_back(event->rank);
    }
    return odd;
}

// Without a majority: "ranks 0,2 agree, and ranks 1,3", or that no two are alike.
std::string parties_of(const Evidence& evidence, const Group& group) {
    std::map<std::uint64_t, std::vector<Rank>> alike;
    for (const Event* event : group.digests) alike[digest_of(event)].push_back(event->rank);
    std::vector<std::vector<Rank>> parties;
    for (auto& [digest, ranks] : alike) parties.push_back(sorted(std::move(ranks)));
    return parties_text(evidence, std::move(parties));
}

}  // namespace

Findings replica_divergence(const Evidence& evidence) {
    const Lives& lives = evidence.facts<Lives>();
    std::map<std::tuple<int, TextId, TextId, std::int64_t>, Group> groups;
    const std::pair<const std::tuple<int, TextId, TextId, std::int64_t>, Group>* last = nullptr;
    for (const Event* event : evidence.each<ParametersDigest>()) {
        const auto* digest = event->as<ParametersDigest>();
        const std::tuple key(lives.attempt_at(event->at), digest->group, digest->name, digest->step);
        if (!last || last->first != key) last = &*groups.try_emplace(key).first;
        Group& group = const_cast<Group&>(last->second);
        group.digests.push_back(event);
        group.differ |= digest_of(group.digests.front()) != digest->digest;
    }
    // Of all groups, those that diverge first, at the same step.
    std::int64_t first_step = std::numeric_limits<std::int64_t>::max();
    int first_attempt = std::numeric_limits<int>::max();
    for (const auto& [key, group] : groups) {
        if (!group.differ) continue;
        const auto when = std::pair(std::get<0>(key), std::get<3>(key));
        if (when < std::pair(first_attempt, first_step)) std::tie(first_attempt, first_step) = when;
    }
    std::vector<Rank> odd;
    Time at{0};
    const Group* one = nullptr;
    for (const auto& [key, group] : groups) {
        if (!group.differ || std::get<0>(key) != first_attempt || std::get<3>(key) != first_step) continue;
        const auto here = odd_replicas_in(group);
        odd.insert(odd.end(), here.begin(), here.end());
        for (const Event* event : group.digests) at = std::max(at, event->at);
        if (!one || here.size() < odd_replicas_in(*one).size()) one = &group;
    }
    if (!one) return {};
    const auto* sample = one->digests.front()->as<ParametersDigest>();
    const std::vector<Rank> apart = sorted(odd_replicas_in(*one));
    const std::size_t others = one->digests.size() - std::min(one->digests.size(), apart.size());
    Finding finding{
        .symptom = "replica_state_divergence",
        .blame = blame_ranks(lives, odd),
        .at = at,
        .says = fmt::format("{} of group {} differ after step {}: {}", evidence.text(sample->name),
                            evidence.text(sample->group), first_step,
                            others == 0 ? parties_of(evidence, *one)
                                        : fmt::format("{} from the {} others", ranks_text(apart), others)),
        .causes = {"gradient_scaling_or_reduction_error", "hardware_or_link_fault",
                   "rng_or_seed_coordination_error"}};
    finding.blame.step = first_step;
    finding.blame.shard = evidence.text(sample->name);
    return {finding};
}

extern const DetectorRow replica_divergence_row{
    .name = "replica_divergence", .reports = {"replica_state_divergence"}, .examine = replica_divergence};

}  // namespace deadrank::results::detectors
