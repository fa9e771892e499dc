// results/facts/findings.cpp — A rank's node is blamed with it: the one who repairs needs to know
// where it stands.
#include "results/facts/findings.h"

#include <algorithm>
#include <fmt/format.h>

#include "results/text/words.h"

namespace deadrank::results::detectors {

std::string ranks_text(const std::vector<Rank>& ranks) {
    if (ranks.empty()) return "no rank";
    return fmt::format("{} {}", ranks.size() == 1 ? "rank" : "ranks", ranges_text(ranks));
}

std::vector<Rank> sorted(std::vector<Rank> ranks) {
    std::sort(ranks.begin(), ranks.end());
    ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
    std::erase(ranks, no_rank);
    return ranks;
}

Blame blame_ranks(const Lives& lives, std::vector<Rank> ranks) {
    Blame blame;
    blame.ranks = sorted(std::move(ranks));
    for (const Rank rank : blame.ranks) blame.nodes.push_back(lives.node_of(rank));
    blame.nodes = sorted(std::move(blame.nodes));
    return blame;
}

std::string digest_text(std::uint64_t digest) { return fmt::format("{:016x}", digest); }

}  // namespace deadrank::results::detectors
