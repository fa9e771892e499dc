// runners/explore/run_difference.cpp — Ranks are compared one by one, since their events may be recorded in
// any order.
#include "runners/explore/run_difference.h"

#include <fmt/format.h>
#include <map>
#include <vector>

#include "results/record/words.h"
#include "results/reports/terminal.h"
#include "runners/explore/moments.h"

namespace deadrank::runners::explore {

namespace {

using results::Event;
using results::Evidence;

struct RankEvent {
    results::Time at;
    std::string what, line;
};
using RankEvents = std::map<results::Rank, std::vector<RankEvent>>;

// What each rank does, one after the other, with the line of the program that it is at.
RankEvents list_rank_events(const Evidence& evidence) {
    RankEvents all;
    std::map<results::Rank, std::string> at;
    for (const Event& event : evidence.events()) {
        if (event.rank == results::no_rank) continue;
        if (const auto* log = event.as<results::RankLog>()) {
            const std::string_view text = evidence.text(log->line);
            if (text.starts_with(source_line_prefix)) {
                at[event.rank] = text.substr(source_line_prefix.size());
                continue;
            }
        }
        all[event.rank].push_back(
            {event.at, results::reports::event_content(evidence, event), at[event.rank]});
    }
    return all;
}

template <class Same>
std::optional<RunDifference> first_of_ranks(const Evidence& one, const Evidence& other, Same&& same) {
    std::optional<RunDifference> first;
    RankEvents there = list_rank_events(one);
    for (const auto& [rank, rank_events] : list_rank_events(other)) {
        const std::vector<RankEvent>& others = there[rank];
        std::size_t i = 0;
        while (i < rank_events.size() && i < others.size() && same(rank_events[i], others[i])) ++i;
        if (i == rank_events.size() && i == others.size()) continue;
        RunDifference here{.rank = rank, .at = {}, .one = {}, .other = {}, .one_line = {}, .other_line = {}};
        if (i < others.size()) {
            here.at = others[i].at;
            here.one = others[i].what;
            here.one_line = others[i].line;
        }
        if (i < rank_events.size()) {
            here.at = rank_events[i].at;
            here.other = rank_events[i].what;
            here.other_line = rank_events[i].line;
        }
        if (!first || here.at < first->at) first = std::move(here);
    }
    return first;
}

}  // namespace

std::string event_with_line(const std::string& event, const std::string& line) {
    if (event.empty()) return "does nothing more";
    return line.empty() ? event : fmt::format("{}   at {}", event, line);
}

std::string RunDifference::text() const {
    return fmt::format("rank {}, {}: {} in one run, {} in another", rank, results::duration_text(at),
                       event_with_line(one, one_line), event_with_line(other, other_line));
}

std::optional<RunDifference> first_difference(const Evidence& one, const Evidence& other) {
    return first_of_ranks(one, other,
                          [](const RankEvent& a, const RankEvent& b) { return a.what == b.what; });
}

std::string describe_difference(const Evidence& one, const Evidence& other) {
    if (const auto first = first_difference(one, other)) return first->text();
    const auto late =
        first_of_ranks(one, other, [](const RankEvent& a, const RankEvent& b) { return a.at == b.at; });
    if (!late) return "";
    return fmt::format("rank {} does the same at other times, first at {}: {}", late->rank,
                       results::duration_text(late->at), event_with_line(late->other, late->other_line));
}

}  // namespace deadrank::runners::explore
