// runners/find/naming.cpp — Places are ranks; a node stands for all of its ranks.
#include "runners/find/naming.h"

#include <algorithm>
#include <set>

namespace deadrank::runners::find {

namespace {

using results::Blame;
using Places = std::set<results::Rank>;

Places places_of(const Blame& blame, int ranks_per_node) {
    Places places(blame.ranks.begin(), blame.ranks.end());
    if (!places.empty()) return places;  // nodes beside ranks say where those ranks are
    for (const std::int32_t node : blame.nodes) {
        for (int local = 0; local < ranks_per_node; ++local) places.insert(node * ranks_per_node + local);
    }
    return places;
}

bool overlap(const Places& one, const Places& other) {
    return std::any_of(one.begin(), one.end(), [&](results::Rank rank) { return other.count(rank) > 0; });
}

bool same_word(const std::string& said, const std::string& meant) { return !said.empty() && said == meant; }

bool same_name(const Blame& said, const Blame& meant) {
    return same_word(said.variable, meant.variable) || same_word(said.shard, meant.shard) ||
           (same_word(said.component, meant.component) &&
            said.component.find_first_of("0123456789") != std::string::npos);
}

bool points_at(const Blame& said, const Blame& meant, int ranks_per_node) {
    if (same_name(said, meant)) return true;
    const Places there = places_of(said, ranks_per_node);
    const Places culprit = places_of(meant, ranks_per_node);
    if (!there.empty() && !culprit.empty()) return overlap(there, culprit);
    return there.empty() && culprit.empty() && same_word(said.component, meant.component);
}

bool says_where(const Blame& blame) { return !blame.ranks.empty() || !blame.nodes.empty(); }

bool is_nowhere(const Blame& blame) {
    return !says_where(blame) && blame.variable.empty() && blame.component.empty() && blame.shard.empty();
}

}  // namespace

std::vector<Blame> culprits_of(const results::Truth& truth) {
    std::vector<Blame> culprits;
    for (const results::Mark& mark : truth.marks) {
        if (mark.kind == results::MarkKind::applied) culprits.push_back(mark.blame);
    }
    return culprits;
}

Naming naming_of(const results::Finding& finding, const std::vector<Blame>& culprits, int ranks_per_node) {
    const auto points = [&](const Blame& meant) { return points_at(finding.blame, meant, ranks_per_node); };
    if (std::any_of(culprits.begin(), culprits.end(), points)) return Naming::culprit;
    const bool missable = std::none_of(culprits.begin(), culprits.end(),
                                       [](const Blame& one) { return is_nowhere(one) || !says_where(one); });
    return says_where(finding.blame) && missable ? Naming::bystander : Naming::nobody;
}

}  // namespace deadrank::runners::find
