// runners/explore/program_orders.cpp — Each order is a run of its own, compared with the usual one as a run with a fault
// is.
#include "runners/explore/program_orders.h"

#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <set>

#include "results/reports/terminal.h"
#include "runners/explore/moments.h"

namespace deadrank::runners::explore {

namespace {

using results::Event;
using results::Evidence;
using scenarios::Result;

struct RankEvent {
    const Event* event;
    std::string what, line;
};

// What each rank does, one after the other, with the line of the program that it is at.
std::map<results::Rank, std::vector<RankEvent>> list_rank_events(const Evidence& evidence) {
    std::map<results::Rank, std::vector<RankEvent>> all;
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
        all[event.rank].push_back({&event, results::reports::event_content(evidence, event), at[event.rank]});
    }
    return all;
}

std::optional<OrderDifference> first_difference(const Evidence& usual, const Evidence& drawn) {
    std::optional<OrderDifference> first;
    auto there = list_rank_events(usual);
    for (const auto& [rank, rank_events] : list_rank_events(drawn)) {
        const std::vector<RankEvent>& others = there[rank];
        std::size_t i = 0;
        while (i < rank_events.size() && i < others.size() && rank_events[i].what == others[i].what) ++i;
        if (i == rank_events.size() && i == others.size()) continue;
        OrderDifference one{.rank = rank, .at = {}, .usual = {}, .drawn = {}, .usual_line = {}, .drawn_line = {}};
        if (i < others.size()) {
            one.at = others[i].event->at;
            one.usual = others[i].what;
            one.usual_line = others[i].line;
        }
        if (i < rank_events.size()) {
            one.at = rank_events[i].event->at;
            one.drawn = rank_events[i].what;
            one.drawn_line = rank_events[i].line;
        }
        if (!first || one.at < first->at) first = std::move(one);
    }
    return first;
}

}  // namespace

bool ProgramOrders::depends() const {
    return std::any_of(runs.begin(), runs.end(), [](const OrderRun& run) {
        return run.outcome != Outcome::unaffected && run.outcome != Outcome::unknown;
    });
}

Result<ProgramOrders> play_orders(ProgramTrials& trials, std::size_t count, const Workers& workers) {
    const auto first = workers.make_runner();
    if (const auto control = trials.control(*first); !control) return tl::unexpected(control.error());
    std::vector<std::optional<OrderRun>> played(count);
    for_each_index(count, workers, [&](std::size_t i, Runner& runner) {
        OrderRun one{.seed = i + 1, .says = {}};
        const auto run = trials.play_order(one.seed, runner);
        if (workers.stop && workers.stop->load()) return;
        if (run) {
            one.outcome = run->outcome;
            one.says = run->says;
            one.trace_hash = run->fault.record.trace_hash;
        } else {
            one.says = run.error().text();
        }
        played[i] = std::move(one);
    });
    ProgramOrders orders{.runs = {}, .planned = count};
    std::map<std::string, std::size_t> alike;
    std::set<std::uint64_t> traces;
    for (auto& one : played) {
        if (!one) continue;
        const std::string ending = fmt::format("{}{}", name_of(one->outcome), words_without_numbers(one->says));
        one->like = alike.emplace(ending, orders.runs.size()).first->second;
        traces.insert(one->trace_hash);
        orders.runs.push_back(std::move(*one));
    }
    orders.distinct = traces.size();
    return orders;
}

Result<std::map<std::uint64_t, OrderDifference>> find_order_differences(const ProgramTrials& trials,
                                                                        const std::vector<std::uint64_t>& seeds,
                                                                        Runner& telling) {
    std::map<std::uint64_t, OrderDifference> found;
    if (seeds.empty()) return found;
    const auto usual = trials.play_healthy({}, telling);
    if (!usual) return tl::unexpected(usual.error());
    for (const std::uint64_t seed : seeds) {
        const auto drawn = trials.play_healthy(seed, telling);
        if (!drawn) return tl::unexpected(drawn.error());
        if (auto first = first_difference(usual->record.evidence, drawn->record.evidence))
            found.emplace(seed, std::move(*first));
    }
    return found;
}

}  // namespace deadrank::runners::explore
