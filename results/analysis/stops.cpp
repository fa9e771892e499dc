// results/analysis/stops.cpp — Long stops of single ranks, and the regularity that tells a plan.
#include "results/analysis/stops.h"

#include <algorithm>
#include <deque>
#include <map>
#include <set>

#include "results/analysis/lives.h"

namespace deadrank::results::analysis {

namespace {

constexpr std::size_t errands_known_min = 3;  // of what a rank does for all, before one can be a stop
constexpr std::size_t errands_kept = 32;

bool is_long_stop(Time lasted, Time usual) { return lasted >= stop_min && lasted >= 10 * usual; }

std::vector<Stop> stops_of(std::span<const StepPace> steps) {
    std::vector<Stop> stops;
    std::deque<Time> errands;  // of the steps before in this attempt
    for (const StepPace& step : steps) {
        if (step.first) errands.clear();
        if (step.first || step.ranks.size() < 2) continue;
        for (const Pace& pace : step.ranks) {
            if (!is_long_stop(pace.own - step.own, step.own)) continue;
            stops.push_back({step.attempt, step.step, pace.process, pace.own - step.own, Time{0}, Time{0},
                             step.epoch_begins});
        }
        const Time usual = lower_median({errands.begin(), errands.end()}), excess = step.for_all - usual;
        if (errands.size() >= errands_known_min && is_long_stop(excess, usual))
            stops.push_back(
                {step.attempt, step.step, step.worker, excess, step.for_all, usual, step.epoch_begins});
        if (step.worker != no_rank) errands.push_back(step.for_all);
        if (errands.size() > errands_kept) errands.pop_front();
    }
    return stops;
}

bool last_alike(const std::vector<const Stop*>& stops) {
    const auto [least, most] = std::minmax_element(
        stops.begin(), stops.end(), [](const Stop* a, const Stop* b) { return a->lasted < b->lasted; });
    return (*most)->lasted.count() <= (*least)->lasted.count() / 1000 * alike_stops_permille;
}

bool are_equally_spaced(const std::vector<const Stop*>& stops, std::int64_t since) {
    std::vector<std::int64_t> steps;
    for (const Stop* stop : stops) steps.push_back(stop->step);
    return has_equal_spacing(steps, since);
}

// The stops of one rank in one attempt, which began with this step.
bool recur(const std::vector<const Stop*>& stops, std::int64_t since) {
    if (stops.size() < 2 || !last_alike(stops)) return false;
    const bool with_epochs =
        std::all_of(stops.begin(), stops.end(), [](const Stop* stop) { return stop->epoch_begins; });
    return with_epochs || are_equally_spaced(stops, since);
}

// Which of its node's ranks it is.
std::int64_t place_on_node(const Lives& lives, Rank process) {
    const auto there = lives.on_node(lives.node_of(process));
    return std::find(there.begin(), there.end(), process) - there.begin();
}

// The stops of one step are those of one rank on each node.
bool one_of_each_node(const Lives& lives, const StepPace& step, const std::vector<const Stop*>& stops) {
    std::set<std::int32_t> nodes, stopped;
    std::set<std::int64_t> places;
    for (const Pace& pace : step.ranks) nodes.insert(lives.node_of(pace.process));
    for (const Stop* stop : stops) {
        stopped.insert(lives.node_of(stop->process));
        places.insert(place_on_node(lives, stop->process));
    }
    return nodes.size() > 1 && stopped == nodes && stops.size() == nodes.size() && places.size() == 1 &&
           last_alike(stops);
}

}  // namespace

bool has_equal_spacing(std::span<const std::int64_t> steps, std::int64_t since) {
    if (steps.size() < 2) return false;
    const std::int64_t first = steps[0], distance = steps[1] - first;
    if (distance < 2) return false;
    for (std::size_t i = 0; i < steps.size(); ++i)
        if (steps[i] != first + static_cast<std::int64_t>(i) * distance) return false;
    return first - distance <= since && (first % distance == 0 || (first + 1) % distance == 0);
}

std::vector<Stop> unplanned_stops(const Evidence& evidence, std::span<const StepPace> steps) {
    const std::vector<Stop> all = stops_of(steps);
    std::map<std::tuple<int, Rank, bool>, std::vector<const Stop*>> by_rank;
    std::map<std::pair<int, std::int64_t>, std::vector<const Stop*>> by_step;
    for (const Stop& stop : all) {
        by_rank[{stop.attempt, stop.process, stop.for_all()}].push_back(&stop);
        by_step[{stop.attempt, stop.step}].push_back(&stop);
    }
    std::set<std::pair<int, std::int64_t>> shared_out;
    for (const StepPace& step : steps) {
        const auto found = by_step.find({step.attempt, step.step});
        if (found != by_step.end() && one_of_each_node(evidence.facts<Lives>(), step, found->second))
            shared_out.insert(found->first);
    }
    std::vector<Stop> unplanned;
    std::map<int, std::int64_t> since;
    for (const StepPace& step : steps) since.try_emplace(step.attempt, step.step);
    for (const Stop& stop : all) {
        if (shared_out.contains({stop.attempt, stop.step})) continue;
        if (!recur(by_rank[{stop.attempt, stop.process, stop.for_all()}], since[stop.attempt]))
            unplanned.push_back(stop);
    }
    return unplanned;
}

}  // namespace deadrank::results::analysis
