// results/detectors/rank_order.cpp — Set-up returned, but two processes claim one rank, groups have other
// members than they should, or ranks are not in the order of the hosts. By the launch plan the k-th process
// of the n-th node is rank n × processes per node + k.
#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "results/analysis/calls.h"
#include "results/analysis/findings.h"
#include "results/analysis/pairs.h"
#include "results/detectors/detector.h"
#include "scenarios/model/taxonomy_ids.h"

namespace deadrank::results::detectors {

using scenarios::Cause;
using scenarios::Symptom;

using namespace analysis;

namespace {

// Groups of these names partition the world: no rank is in two of one name.
constexpr std::array<std::string_view, 8> partitions = {"tp", "dp", "pp", "ep", "edp", "cp", "sp", "mp"};

Finding rank_order_finding(const Lives& lives, std::vector<Rank> ranks, Time at, std::string says,
                           std::string cause) {
    return {.symptom = id_of(Symptom::wrong_rank_or_group_membership),
            .blame = blame_ranks(lives, std::move(ranks)),
            .at = at,
            .says = std::move(says),
            .causes = {std::move(cause), id_of(Cause::misconfigured_environment_variable)}};
}

// Two processes claim one rank: blame the one whose own number differs; both, if both differ.
std::vector<Finding> doubled(const Lives& lives, std::vector<Claim> claims) {
    std::stable_sort(claims.begin(), claims.end(),
                     [](const Claim& a, const Claim& b) { return a.rank < b.rank; });
    std::vector<Rank> culprits;
    std::string says;
    Time at = never;
    for (auto first = claims.begin(); first != claims.end();) {
        const Rank rank = first->rank;
        const auto end =
            std::find_if(first, claims.end(), [&](const Claim& one) { return one.rank != rank; });
        const std::span<const Claim> claimants(std::exchange(first, end), end);
        if (claimants.size() < 2) continue;
        std::vector<Rank> all, wrong;
        for (const Claim& claim : claimants) {
            all.push_back(claim.process);
            if (claim.process != rank) wrong.push_back(claim.process);
        }
        if (wrong.size() == all.size()) wrong = all;
        culprits.insert(culprits.end(), wrong.begin(), wrong.end());
        if (claimants[1].at < at) {
            at = claimants[1].at;
            says = fmt::format("rank {} is claimed by processes {}", rank, ranks_text(sorted(all)).substr(6));
        }
    }
    if (culprits.empty()) return {};
    return {rank_order_finding(lives, std::move(culprits), at, std::move(says),
                               id_of(Cause::misconfigured_environment_variable))};
}

// Every rank is claimed once, but not where the launcher put it.
std::vector<Finding> permuted(const Lives& lives, const std::vector<Claim>& claims) {
    std::vector<Rank> moved;
    Time at{0};
    std::string says;
    for (const Claim& claim : claims) {
        if (claim.rank == claim.process) continue;
        moved.push_back(claim.process);
        at = std::max(at, claim.at);
        if (says.empty())
            says =
                fmt::format("the launcher's process {} says that it is rank {}", claim.process, claim.rank);
    }
    if (moved.empty()) return {};
    return {rank_order_finding(lives, std::move(moved), at, std::move(says),
                               id_of(Cause::rank_or_device_derivation_error))};
}

// True if no odd rank has a WORLD_SIZE that some other rank has: the wrong member list comes from it.
// Example: ranks 0, 2 and 3 have 4 and join with 0-3, rank 1 has 2 and joins with 0-1.
bool read_another_size(const Evidence& evidence, int attempt, const std::vector<Rank>& odd,
                       const std::vector<Rank>& usual) {
    const PairTables environment(evidence, attempt, PairTables::Of::environment);
    std::set<std::string_view> sizes;
    for (const Rank rank : usual)
        if (const auto size = environment.held(rank, "WORLD_SIZE")) sizes.insert(*size);
    return !sizes.empty() && std::all_of(odd.begin(), odd.end(), [&](Rank rank) {
        const auto size = environment.held(rank, "WORLD_SIZE");
        return size && !sizes.contains(*size);
    });
}

// Members of one communicator that believe in different member lists, or that are not in the list.
std::vector<Finding> disputed(const Evidence& evidence, const Communicator& comm) {
    const Lives& lives = evidence.facts<Lives>();
    std::map<std::pair<TextId, std::int32_t>, std::vector<const Joining*>> beliefs;
    std::vector<Rank> outside;
    Time at{0};
    for (const Joining& joining : comm.joinings) {
        beliefs[{joining.what->members, joining.what->size}].push_back(&joining);
        if (joining.what->rank_in_comm >= 0) continue;
        outside.push_back(joining.process);
        at = std::max(at, joining.entered);
    }
    if (!outside.empty()) {
        return {rank_order_finding(
            lives, outside, at,
            fmt::format("{} asked for a group {} of which {} no member", ranks_text(sorted(outside)),
                        comm.name, outside.size() == 1 ? "it is" : "they are"),
            id_of(Cause::group_construction_error))};
    }
    if (beliefs.size() < 2) return {};
    const auto most = std::max_element(beliefs.begin(), beliefs.end(), [](const auto& a, const auto& b) {
        return a.second.size() < b.second.size();
    });
    std::vector<Rank> odd, usual;
    const Joining* one = nullptr;
    for (const Joining* joining : most->second) usual.push_back(joining->process);
    for (const auto& [belief, joinings] : beliefs) {
        if (belief == most->first) continue;
        for (const Joining* joining : joinings) {
            odd.push_back(joining->process);
            at = std::max(at, joining->entered);
            one = joining;
        }
    }
    const bool sized = read_another_size(evidence, comm.attempt, odd, usual);
    Finding found = rank_order_finding(
        lives, odd, at,
        fmt::format("rank {} joins {} with members {}, the others with {}", one->process, comm.name,
                    evidence.text(one->what->members), evidence.text(most->first.first)),
        sized ? id_of(Cause::misconfigured_environment_variable) : id_of(Cause::group_construction_error));
    if (sized) found.blame.variable = "WORLD_SIZE";
    return {std::move(found)};
}

bool splits_world(std::string_view name) {
    return std::find(partitions.begin(), partitions.end(), name) != partitions.end();
}

// All ranks that joined a group of that name whose list has a rank twice.
std::vector<Rank> joiners_of_doubled(const Evidence& evidence, int attempt, std::string_view name) {
    std::vector<Rank> joined;
    for (const Communicator& comm : evidence.facts<Calls>().communicators()) {
        const std::set<Rank> once(comm.ranks.begin(), comm.ranks.end());
        if (comm.attempt != attempt || comm.name != name || once.size() == comm.ranks.size()) continue;
        for (const Joining& joining : comm.joinings) joined.push_back(joining.process);
    }
    return joined;
}

// A member list with one rank twice, or two groups of one kind that share a rank.
std::vector<Finding> overlapping(const Evidence& evidence, int attempt) {
    const Lives& lives = evidence.facts<Lives>();
    std::map<std::string_view, std::vector<const Communicator*>> seats;  // by rank: there may be a million
    for (const Communicator& comm : evidence.facts<Calls>().communicators()) {
        if (comm.attempt != attempt || comm.joinings.empty() || comm.ranks.size() > 4096) continue;
        const Time at = comm.joinings.back().entered;
        const std::set<Rank> once(comm.ranks.begin(), comm.ranks.end());
        std::vector<Rank> joined;
        for (const Joining& joining : comm.joinings) joined.push_back(joining.process);
        if (once.size() < comm.ranks.size()) {
            return {rank_order_finding(lives, joiners_of_doubled(evidence, attempt, comm.name), at,
                                       fmt::format("group {} has a rank twice: {}", comm.name,
                                                   evidence.text(comm.joinings[0].what->members)),
                                       id_of(Cause::group_construction_error))};
        }
        if (!splits_world(comm.name)) continue;
        auto& taken = seats[comm.name];
        for (const Rank rank : comm.ranks) {
            const auto place = static_cast<std::size_t>(std::max<Rank>(rank, 0));
            if (place >= taken.size()) taken.resize(place + 1);
            const Communicator*& seat = taken[place];
            if (!seat) seat = &comm;
            if (seat->ranks == comm.ranks) continue;
            return {rank_order_finding(lives, joined, at,
                                       fmt::format("rank {} is in two groups {}: {} and {}", rank, comm.name,
                                                   evidence.text(seat->joinings[0].what->members),
                                                   evidence.text(comm.joinings[0].what->members)),
                                       id_of(Cause::group_construction_error))};
        }
    }
    return {};
}

}  // namespace

Findings rank_order(const Evidence& evidence) {
    const Lives& lives = evidence.facts<Lives>();
    for (int attempt = 0; attempt < lives.attempts(); ++attempt) {
        const auto claims = list_claims(evidence, attempt);
        // Nobody can have such a rank: where set-up fails of it, setup_failure tells.
        if (!refused_claims(evidence, attempt, claims).empty()) continue;
        if (auto found = doubled(lives, claims); !found.empty()) return found;
        // After a restart an agent may assign ranks differently.
        if (auto found = permuted(lives, claims); attempt == 0 && !found.empty()) return found;
        for (const Communicator& comm : evidence.facts<Calls>().communicators()) {
            if (comm.attempt != attempt) continue;
            if (auto found = disputed(evidence, comm); !found.empty()) return found;
        }
        if (auto found = overlapping(evidence, attempt); !found.empty()) return found;
    }
    return {};
}

extern const DetectorRow rank_order_row{
    .name = "rank_order", .reports = {id_of(Symptom::wrong_rank_or_group_membership)}, .examine = rank_order};

}  // namespace deadrank::results::detectors
