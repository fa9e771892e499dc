// results/analysis/pairs.cpp — Ranks share texts, so comparing text ids first saves nearly all of the work.
#include "results/analysis/pairs.h"

#include <algorithm>
#include <set>

namespace deadrank::results::analysis {

namespace {

Pairs parse_pairs(std::string_view text) {
    Pairs pairs;
    while (!text.empty()) {
        const auto end = text.find('\n');
        const std::string_view line = text.substr(0, end);
        text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
        const auto equals = line.find('=');
        if (equals != std::string_view::npos) pairs[line.substr(0, equals)] = line.substr(equals + 1);
    }
    return pairs;
}

}  // namespace

PairTables::PairTables(const Evidence& evidence, int attempt, Of what) {
    for (const Life& life : evidence.facts<Lives>().of(attempt)) {
        by_process_.push_back(nullptr);
        if (!life.start) continue;
        const TextId id = what == Of::environment ? life.start->environment : life.start->versions;
        const auto [table, fresh] = tables_.try_emplace(id);
        if (fresh) table->second = parse_pairs(evidence.text(id));
        by_process_.back() = &table->second;
    }
}

std::optional<std::string_view> PairTables::held(Rank process, std::string_view name) const {
    const auto place = static_cast<std::size_t>(process);
    const Pairs* pairs = place < by_process_.size() ? by_process_[place] : nullptr;
    if (!pairs) return std::nullopt;
    const auto found = pairs->find(name);
    return found == pairs->end() ? std::nullopt : std::optional(found->second);
}

std::vector<std::string_view> PairTables::names() const {
    std::set<std::string_view> names;
    for (const auto& [id, pairs] : tables_) {
        for (const auto& [name, value] : pairs) names.insert(name);
    }
    return {names.begin(), names.end()};
}

std::optional<Difference> difference_in(const PairTables& tables, std::string_view name) {
    struct Side {
        std::optional<std::string_view> value;
        std::vector<Rank> ranks;
    };
    std::vector<Side> sides;
    for (std::size_t i = 0; i < tables.by_process().size(); ++i) {
        const Pairs* pairs = tables.by_process()[i];
        if (!pairs) continue;
        const auto found = pairs->find(name);
        const auto value = found == pairs->end() ? std::nullopt : std::optional(found->second);
        const auto side =
            std::find_if(sides.begin(), sides.end(), [&](const Side& s) { return s.value == value; });
        if (side != sides.end())
            side->ranks.push_back(static_cast<Rank>(i));
        else
            sides.push_back({value, {static_cast<Rank>(i)}});
    }
    if (sides.size() < 2) return std::nullopt;
    // In a tie the ranks that set a value are odd, not those without one.
    std::stable_sort(sides.begin(), sides.end(), [](const Side& a, const Side& b) {
        return std::pair(a.ranks.size(), !a.value) > std::pair(b.ranks.size(), !b.value);
    });
    Difference found{.name = name, .odd = {}};
    for (std::size_t i = 1; i < sides.size(); ++i) {
        found.odd.insert(found.odd.end(), sides[i].ranks.begin(), sides[i].ranks.end());
    }
    std::sort(found.odd.begin(), found.odd.end());
    found.usual_value = sides[0].value.value_or("");
    found.odd_value = sides[1].value.value_or("");
    found.odd_has_none = !sides[1].value;
    return found;
}

std::optional<Change> change_between(const PairTables& earlier, const PairTables& later) {
    const auto value = [](const Pairs* pairs, std::string_view name) {
        const auto found = pairs->find(name);
        return found == pairs->end() ? std::string_view() : found->second;
    };
    for (const std::string_view name : later.names()) {
        std::optional<Change> change;
        bool everywhere = true;
        const std::size_t count = std::min(earlier.by_process().size(), later.by_process().size());
        for (std::size_t i = 0; i < count && everywhere; ++i) {
            const Pairs* before = earlier.by_process()[i];
            const Pairs* after = later.by_process()[i];
            if (!before || !after) continue;
            const Change here{name, value(before, name), value(after, name)};
            everywhere = here.before != here.after;
            if (!change) change = here;
        }
        if (everywhere && change) return change;
    }
    return std::nullopt;
}

}  // namespace deadrank::results::analysis
