// results/reports/differences.cpp — Environment, versions and settings that not all ranks share. What
// is meant to be every rank's own (RANK, a pid) is left out while it is.
#include <fmt/format.h>
#include <map>
#include <set>

#include "results/reports/clues.h"
#include "results/text/style.h"

namespace deadrank::results::reports {

namespace {

constexpr std::size_t difference_lines_most = 14;

using Values = std::map<std::string, std::map<std::string, std::vector<Rank>>>;  // name → value → ranks

void take_lines(Values& values, std::string_view text, Rank rank) {
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        if (const std::size_t sign = line.find('='); sign != std::string_view::npos)
            values[std::string(line.substr(0, sign))][std::string(line.substr(sign + 1))].push_back(rank);
        text.remove_prefix(std::min(line.size() + 1, text.size()));
    }
}

bool is_own_of_each(const std::string& name, const std::map<std::string, std::vector<Rank>>& by_value,
                    std::size_t ranks) {
    if (name == "LOCAL_RANK" || name == "local_rank" || name == "GROUP_RANK") {
        return true;
    }
    return by_value.size() == ranks;
}

}  // namespace

Clue difference_clue(const Evidence& evidence) {
    Values values;
    std::set<Rank> ranks;
    for (const Event* event : evidence.each<RankStart>()) {
        if (!ranks.insert(event->rank).second) break;  // the first start alone: a restart says the same again
        const auto* start = event->as<RankStart>();
        take_lines(values, evidence.text(start->versions), event->rank);
        take_lines(values, evidence.text(start->environment), event->rank);
    }
    std::set<std::pair<Rank, TextId>> read;
    for (const Event* event : evidence.each<RankConfig>()) {
        const auto* config = event->as<RankConfig>();
        if (!read.insert({event->rank, config->name}).second) continue;
        values[std::string(evidence.text(config->name)) + " (as it was read)"]
              [std::string(evidence.text(config->value))]
                  .push_back(event->rank);
    }
    Clue clue{"what not all ranks have alike", {}};
    for (const auto& [name, by_value] : values) {
        std::size_t have = 0;
        for (const auto& [value, who] : by_value) have += who.size();
        const bool missing = have < ranks.size() && !name.ends_with(" (as it was read)");
        if (!missing && (by_value.size() == 1 || is_own_of_each(name, by_value, have))) continue;
        std::string line = name + ":";
        std::size_t told = 0;
        for (const auto& [value, who] : by_value) {
            if (++told > 5) break;
            line +=
                fmt::format("  {} = {}", who_text(who), value.empty() ? "(empty)" : Style{}.cut(value, 40));
        }
        if (by_value.size() > 5) line += fmt::format("  and {} more values", by_value.size() - 5);
        if (missing) line += fmt::format("  absent on {} of {}", ranks.size() - have, ranks.size());
        if (clue.lines.size() < difference_lines_most) clue.lines.push_back(line);
    }
    return clue;
}

}  // namespace deadrank::results::reports
