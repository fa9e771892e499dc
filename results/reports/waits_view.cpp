// results/reports/waits_view.cpp — Who waits for whom, from evidence, as groups of ranks and arrows
// between them; and in the simulator's own words, where there are any.
#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <set>

#include "results/facts/waits.h"
#include "results/reports/run_view.h"
#include "results/text/words.h"

namespace deadrank::results::reports {

namespace {

using detectors::Life;
using detectors::Lives;
using detectors::Wait;
using detectors::Waits;

constexpr std::size_t groups_most = 40;

struct Group {
    std::string says, detail, state;
    Time since = never;
    std::vector<Rank> ranks, for_whom;
};

std::string offered(const Wait& wait, Rank process) {
    if (!wait.meeting) return {};
    const std::size_t place = wait.comm->place_of(process);
    if (place >= wait.meeting->calls.size() || !wait.meeting->calls[place].what) return {};
    const CollectiveEnter& what = *wait.meeting->calls[place].what;
    return fmt::format("{} × {}", what.count, name_of(what.dtype));
}

std::string life_state(const Life* life) {
    if (!life || !life->start) return "was never seen";
    if (life->ended == never) return "still runs, and waits for nobody";
    if (life->signal != 0) return fmt::format("exited (signal {})", life->signal);
    return life->code == 0 ? "finished" : fmt::format("exited (code {})", life->code);
}

std::vector<Group> groups_of(const Waits& waits) {
    std::map<std::string, Group> groups;
    for (const auto& [process, all] : waits.waits()) {
        for (const Wait& wait : all) {
            const std::string says = fmt::format("{} {} of {}", name_of(wait.op), wait.seq, wait.comm->name);
            const std::string detail = offered(wait, process);
            Group& group =
                groups[fmt::format("{}|{}|{}|{}", wait.comm->id, says, detail, ranges_text(wait.for_whom))];
            group.says = says;
            group.detail = detail;
            group.state = "waits";
            group.since = std::min(group.since, wait.since);
            group.ranks.push_back(process);
            group.for_whom = wait.for_whom;
        }
    }
    std::vector<Group> list;
    for (auto& [key, group] : groups) list.push_back(std::move(group));
    return list;
}

// Those who are waited for and wait for nobody, by how they ended.
void add_roots(std::vector<Group>& groups, const Lives& lives, int attempt) {
    std::set<Rank> waiting, roots;
    for (const Group& group : groups) waiting.insert(group.ranks.begin(), group.ranks.end());
    for (const Group& group : groups) {
        for (const Rank rank : group.for_whom) {
            if (waiting.count(rank) == 0) roots.insert(rank);
        }
    }
    std::map<std::string, Group> by_state;
    for (const Rank rank : roots) {
        Group& group = by_state[life_state(lives.find(attempt, rank))];
        group.ranks.push_back(rank);
    }
    for (auto& [state, group] : by_state) {
        group.state = "root";
        group.says = state;
        groups.push_back(std::move(group));
    }
}

Json arrows_of(const std::vector<Group>& groups) {
    std::map<Rank, std::vector<std::size_t>> of;
    for (std::size_t i = 0; i < groups.size(); ++i) {
        for (const Rank rank : groups[i].ranks) of[rank].push_back(i);
    }
    Json arrows = Json::array();
    for (std::size_t i = 0; i < groups.size(); ++i) {
        std::set<std::size_t> to;
        for (const Rank rank : groups[i].for_whom) {
            if (const auto found = of.find(rank); found != of.end())
                to.insert(found->second.begin(), found->second.end());
        }
        for (const std::size_t target : to) arrows.push_back({i, target});
    }
    return arrows;
}

// The last moment at which a standstill showed: the end, or just before the first rank gave up.
Time moment_of(const Evidence& evidence) {
    Time first_exit = never;
    for (const Event* event : evidence.each<RankExit>()) {
        const auto* exit = event->as<RankExit>();
        if (exit->code != 0 || exit->signal != 0) first_exit = std::min(first_exit, event->at);
    }
    for (const Event* event : evidence.each<CommAbort>()) first_exit = std::min(first_exit, event->at);
    return first_exit == never ? evidence.observed_until() : first_exit - Time{1};
}

// "rank 1 waits … ", "rank 2 waits …" with the same words become one line.
Json told(const Truth& truth) {
    std::vector<std::string> order;
    std::map<std::string, std::vector<Rank>> by_words;
    for (const std::string& line : truth.waits_for) {
        const std::size_t digits = line.find_first_of("0123456789");
        const std::size_t end = line.find_first_not_of("0123456789", digits);
        if (!line.starts_with("rank ") || digits != 5 || end == std::string::npos || end > 14) continue;
        const std::string words = line.substr(end + 1);
        if (by_words.count(words) == 0) order.push_back(words);
        by_words[words].push_back(std::stoi(line.substr(digits, end - digits)));
    }
    Json lines = Json::array();
    for (const std::string& words : order) lines.push_back({ranges_text(by_words[words]), words});
    return lines;
}

}  // namespace

Json waits_view(const Evidence& evidence, const Truth* truth) {
    const auto& lives = evidence.facts<Lives>();
    Json view = {{"groups", Json::array()}, {"arrows", Json::array()}, {"left_out", 0}};
    if (truth) view["told"] = told(*truth);
    const Time shortest = std::min<Time>(lives.hang_after(), std::chrono::seconds(5));
    for (const Time when : {evidence.observed_until(), moment_of(evidence)}) {
        const int attempt = lives.attempt_at(when);
        std::vector<Group> groups = groups_of(Waits(evidence, attempt, when));
        std::erase_if(groups, [&](const Group& group) { return when - group.since < shortest; });
        if (groups.empty()) continue;
        add_roots(groups, lives, attempt);
        std::stable_sort(groups.begin(), groups.end(), [](const Group& a, const Group& b) {
            return (a.state == "root") > (b.state == "root") ||
                   (a.state == b.state && a.ranks.size() > b.ranks.size());
        });
        if (groups.size() > groups_most) {
            view["left_out"] = groups.size() - groups_most;
            groups.resize(groups_most);
        }
        for (const Group& group : groups) {
            view["groups"].push_back({{"ranks", ranges_text(group.ranks)},
                                      {"count", group.ranks.size()},
                                      {"says", group.says},
                                      {"detail", group.detail},
                                      {"state", group.state},
                                      {"since", micros_of(group.since)}});
        }
        view["arrows"] = arrows_of(groups);
        view["at"] = micros_of(when);
        break;
    }
    return view;
}

}  // namespace deadrank::results::reports
