// results/facts/claims.cpp — Reads the claims from rendezvous.enter, and whether set-up failed from the ends
// of rendezvous and of the first communicators.
#include "results/facts/claims.h"

#include <algorithm>
#include <fmt/format.h>

#include "results/facts/findings.h"
#include "results/facts/lives.h"

namespace deadrank::results::detectors {

std::vector<Claim> claims_of(const Evidence& evidence, int attempt) {
    const Lives& lives = evidence.facts<Lives>();
    std::vector<Claim> claims;
    for (const Event* event : evidence.each<RendezvousEnter>()) {
        if (lives.attempt_at(event->at) != attempt) continue;
        claims.push_back({event->rank, event->as<RendezvousEnter>()->claimed_rank, event->at});
    }
    return claims;
}

namespace {

// Where a process believes in a larger world than was started, it is the size that is wrong.
Rank world_of(const Evidence& evidence, int attempt) {
    const Lives& lives = evidence.facts<Lives>();
    Rank world = std::max(evidence.world_size(), lives.count());
    for (const Event* event : evidence.each<RendezvousEnter>()) {
        if (lives.attempt_at(event->at) == attempt)
            world = std::max(world, event->as<RendezvousEnter>()->expected);
    }
    return world;
}

// Processes whose set-up ended with an error, ascending.
std::vector<Rank> failed_in_setup(const Evidence& evidence, int attempt) {
    const Lives& lives = evidence.facts<Lives>();
    std::vector<Rank> failed;
    const auto see = [&](const Event& event, Code result) {
        if (result != Code::ok && lives.attempt_at(event.at) == attempt) failed.push_back(event.rank);
    };
    for (const Event* event : evidence.each<RendezvousLeave>())
        see(*event, event->as<RendezvousLeave>()->result);
    for (const Event* event : evidence.each<CommInitLeave>()) see(*event, event->as<CommInitLeave>()->result);
    return sorted(std::move(failed));
}

}  // namespace

std::vector<Claim> refused_claims(const Evidence& evidence, int attempt) {
    std::vector<Claim> claims = claims_of(evidence, attempt);
    const Rank world = world_of(evidence, attempt);
    const auto impossible = [&](const Claim& claim) { return claim.rank < 0 || claim.rank >= world; };
    if (std::none_of(claims.begin(), claims.end(), impossible)) return {};
    const std::vector<Rank> failed = failed_in_setup(evidence, attempt);
    const bool refused = std::any_of(claims.begin(), claims.end(), [&](const Claim& claim) {
        return impossible(claim) && std::binary_search(failed.begin(), failed.end(), claim.process);
    });
    if (!refused) return {};
    // After a restart an agent may assign ranks differently.
    std::erase_if(claims, [&](const Claim& claim) {
        return !impossible(claim) && (attempt > 0 || claim.rank == claim.process);
    });
    std::stable_sort(claims.begin(), claims.end(),
                     [&](const Claim& a, const Claim& b) { return impossible(a) && !impossible(b); });
    return claims;
}

bool started_as(const Evidence& evidence, const Claim& claim) {
    const std::string line = fmt::format("RANK={}", claim.rank);
    for (const Event* event : evidence.each<RankStart>()) {
        if (event->rank != claim.process) continue;
        std::string_view rest = evidence.text(event->as<RankStart>()->environment);
        while (!rest.empty()) {
            const auto end = std::min(rest.find('\n'), rest.size());
            if (rest.substr(0, end) == line) return true;
            rest.remove_prefix(std::min(end + 1, rest.size()));
        }
    }
    return false;
}

}  // namespace deadrank::results::detectors
