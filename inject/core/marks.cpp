// inject/core/marks.cpp — What the truth records of a fault: applied, reverted, refused, without a moment or
// without an effect.
#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "inject/core/injector.h"
#include "inject/core/trigger.h"

namespace deadrank::inject {

// ── Blame is completed here from what only the moment knows: step, collective, and the nodes of the ranks.

namespace {

template <class T>
void keep_each_once(std::vector<T>& values) {
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
}

results::Blame complete(results::Blame blame, Rank rank, const Moment& moment, const Levers& levers) {
    if (rank >= 0 && std::count(blame.ranks.begin(), blame.ranks.end(), rank) > 0) blame.ranks = {rank};
    if (blame.nodes.empty()) {
        for (const Rank blamed : blame.ranks) blame.nodes.push_back(levers.node_of(blamed));
    }
    keep_each_once(blame.ranks);
    keep_each_once(blame.nodes);
    if (moment.step >= 0) blame.step = moment.step;
    if (blame.collective.empty() && results::op_named(moment.call) != results::Op::none) {
        blame.collective = moment.call;
    }
    return blame;
}

std::string on_rank(Rank rank, const std::vector<Rank>& blamed = {}) {
    if (rank >= 0) return fmt::format(" on rank {}", rank);
    if (blamed.empty()) return {};
    return fmt::format(" on {} {}", blamed.size() == 1 ? "rank" : "ranks", fmt::join(blamed, ", "));
}

std::string where(const Moment& moment) {
    std::string text = moment.step < 0 ? std::string() : fmt::format(" in step {}", moment.step);
    if (!moment.call.empty()) text += fmt::format(" before {}", moment.call);
    return text;
}

}  // namespace

results::Mark applied_mark(std::size_t fault, const PlannedFault& planned, Rank rank, const Moment& moment,
                           const Levers& levers) {
    const results::Blame blame = planned.spec.provokes
                                     ? results::Blame{}
                                     : complete(planned.fault->blame(levers), rank, moment, levers);
    const bool few = blame.ranks.size() <= 8;
    return {
        .at = moment.now,
        .kind = results::MarkKind::applied,
        .fault = static_cast<std::int32_t>(fault),
        .blame = blame,
        .says = planned.spec.kind + on_rank(rank, few ? blame.ranks : std::vector<Rank>()) + where(moment)};
}

results::Mark reverted_mark(std::size_t fault, const PlannedFault& planned, Rank rank, Time now) {
    return {.at = now,
            .kind = results::MarkKind::reverted,
            .fault = static_cast<std::int32_t>(fault),
            .blame = {},
            .says = planned.spec.kind + on_rank(rank)};
}

std::string sighting_text(const Sighting& sighting) {
    if (sighting.step < 0)
        return sighting.call.empty() ? "before the first step"
                                     : fmt::format("at {} before the first step", sighting.call);
    if (sighting.call.empty() || sighting.call == "step") return fmt::format("in step {}", sighting.step);
    return fmt::format("at {} in step {}", sighting.call, sighting.step);
}

Nearness nearness(const scenarios::Trigger& when, const Moment& moment) {
    Nearness near{
        .missing = 0, .steps_away = 0, .sighting = {moment.step, std::string(moment.call), moment.now}};
    near.missing += !is_call(moment.call, implied_call(when)) ? 2 : 0;
    near.missing += !when.phase.empty() && results::name_of(moment.phase) != when.phase;
    near.missing += !when.comm.empty() && moment.comm != when.comm;
    if (when.step >= 0 && !fits_step(when, moment.step)) {
        ++near.missing;
        near.steps_away = std::abs(moment.step - when.step);
    }
    return near;
}

results::Mark missed_mark(std::size_t fault, const PlannedFault& planned, const ArmedFault* nearest,
                          Time now) {
    const std::string near = nearest && nearest->nearest
                                 ? "; the nearest moment was " + sighting_text(nearest->nearest->sighting)
                                 : std::string();
    return {.at = now,
            .kind = results::MarkKind::missed,
            .fault = static_cast<std::int32_t>(fault),
            .blame = {},
            .says = fmt::format("the `when` of {} was never met{}", planned.spec.kind, near)};
}

results::Mark unread_mark(std::size_t fault, const PlannedFault& planned, const ArmedFault& armed, Time now) {
    std::string before = "; it was not asked for before either";
    if (armed.sighting) before = "; it was last asked for " + sighting_text(*armed.sighting);
    if (!planned.spec.when.at_start && !armed.sighting) before.clear();
    return {.at = now,
            .kind = results::MarkKind::unread,
            .fault = static_cast<std::int32_t>(fault),
            .blame = {},
            .says = fmt::format("nothing read {} after {}{}", armed.subjects.front().name, planned.spec.kind,
                                before)};
}

results::Mark refused_mark(std::size_t fault, const PlannedFault& planned, Rank rank, const Moment& moment,
                           const scenarios::Error& error) {
    return {.at = moment.now,
            .kind = results::MarkKind::refused,
            .fault = static_cast<std::int32_t>(fault),
            .blame = {},
            .says = fmt::format("{}{}{}: {}", planned.spec.kind, on_rank(rank), where(moment), error.text())};
}

}  // namespace deadrank::inject
