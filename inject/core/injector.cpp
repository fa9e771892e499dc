// inject/core/injector.cpp — Faults and their moments for one run: applies, takes back, and keeps for the
// truth what was done and who is to blame.
#include "inject/core/injector.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>

#include "inject/core/fault.h"
#include "inject/core/trigger.h"

namespace deadrank::inject {

// Blame is completed here from what only the moment knows: step, collective, and the nodes of the ranks.

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

std::string whose(Rank rank, const std::vector<Rank>& blamed = {}) {
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
    const results::Blame blame = complete(planned.fault->blame(levers), rank, moment, levers);
    const bool few = blame.ranks.size() <= 8;
    return {.at = moment.now,
            .kind = results::MarkKind::applied,
            .fault = static_cast<std::int32_t>(fault),
            .blame = blame,
            .says = planned.spec.kind + whose(rank, few ? blame.ranks : std::vector<Rank>()) + where(moment)};
}

results::Mark reverted_mark(std::size_t fault, const PlannedFault& planned, Rank rank, Time now) {
    return {.at = now,
            .kind = results::MarkKind::reverted,
            .fault = static_cast<std::int32_t>(fault),
            .blame = {},
            .says = planned.spec.kind + whose(rank)};
}

results::Mark refused_mark(std::size_t fault, const PlannedFault& planned, Rank rank, const Moment& moment,
                           const scenarios::Error& error) {
    return {.at = moment.now,
            .kind = results::MarkKind::refused,
            .fault = static_cast<std::int32_t>(fault),
            .blame = {},
            .says = fmt::format("{}{}{}: {}", planned.spec.kind, whose(rank), where(moment), error.text())};
}

// Occasions and their alarms. Everything is kept in order of the plan, so one plan acts in one way.

namespace {

bool needs_moments(const scenarios::Trigger& when) {
    return (!from_start(when) && !by_clock(when)) || when.until_step >= 0;
}

}  // namespace

struct Injector::State {
    std::vector<PlannedFault> faults;
    std::vector<Occasion> occasions;
    std::vector<std::vector<std::size_t>> by_rank;  // indices into occasions
    std::vector<std::size_t> of_anyone;
    std::vector<std::size_t> watching;  // by rank
    std::size_t watching_anyone = 0;
    std::set<std::pair<Time, std::size_t>> alarms;
    results::Truth* truth = nullptr;
    std::optional<scenarios::Error> refusal;

    const scenarios::Trigger& when(const Occasion& occasion) const {
        return faults[occasion.fault].spec.when;
    }
    std::size_t& watchers(Rank rank) {
        return rank < 0 ? watching_anyone : watching[static_cast<std::size_t>(rank)];
    }

    void mark_applied(std::size_t fault, Rank rank, const Moment& moment, const Levers& levers) {
        truth->marks.push_back(applied_mark(fault, faults[fault], rank, moment, levers));
    }
    void add(std::size_t fault);
    void set_alarm(Occasion& occasion, Time when);
    void stop_watching(Occasion& occasion);
    bool apply(Occasion& occasion, const Moment& moment, Levers& levers);
    void revert(Occasion& occasion, Time now, Levers& levers, bool for_good);
    void look(Occasion& occasion, const Moment& moment, Levers& levers);
    void ring(Occasion& occasion, Time now, Levers& levers);
};

void Injector::State::add(std::size_t fault) {
    const PlannedFault& planned = faults[fault];
    for (const Rank rank : planned.ranks) {
        Occasion occasion{.fault = fault, .rank = rank, .watching = needs_moments(planned.spec.when)};
        if (rank >= 0 && by_rank.size() <= static_cast<std::size_t>(rank)) {
            by_rank.resize(static_cast<std::size_t>(rank) + 1);
            watching.resize(by_rank.size(), 0);
        }
        (rank < 0 ? of_anyone : by_rank[static_cast<std::size_t>(rank)]).push_back(occasions.size());
        if (occasion.watching) ++watchers(rank);
        occasions.push_back(occasion);
        if (by_clock(planned.spec.when)) set_alarm(occasions.back(), Time(planned.spec.when.at));
    }
}

void Injector::State::set_alarm(Occasion& occasion, Time when) {
    const auto index = static_cast<std::size_t>(&occasion - occasions.data());
    if (occasion.alarm != results::never) alarms.erase({occasion.alarm, index});
    occasion.alarm = when;
    if (when != results::never) alarms.insert({when, index});
}

void Injector::State::stop_watching(Occasion& occasion) {
    if (occasion.watching) --watchers(occasion.rank);
    occasion.watching = false;
}

// True when the lever moved. Whatever is refused is over: a lever that did not move now will not move later.
bool Injector::State::apply(Occasion& occasion, const Moment& moment, Levers& levers) {
    PlannedFault& planned = faults[occasion.fault];
    const auto done = planned.fault->apply(levers, occasion.rank);
    if (!done) {
        truth->marks.push_back(refused_mark(occasion.fault, planned, occasion.rank, moment, done.error()));
        if (!refusal) refusal = done.error();
        occasion.finished = true;
        stop_watching(occasion);
        set_alarm(occasion, results::never);
        return false;
    }
    occasion.active = true;
    const auto& trigger = planned.spec.when;
    const Time lasts = trigger.lasts >= 0 ? Time(trigger.lasts) : planned.rhythm.on;
    if (lasts != results::never) set_alarm(occasion, moment.now + lasts);
    if (!trigger.always && trigger.until_step < 0) stop_watching(occasion);
    return true;
}

void Injector::State::revert(Occasion& occasion, Time now, Levers& levers, bool for_good) {
    PlannedFault& planned = faults[occasion.fault];
    planned.fault->revert(levers, occasion.rank);
    truth->marks.push_back(reverted_mark(occasion.fault, planned, occasion.rank, now));
    occasion.active = false;
    ++occasion.acts;
    const bool again = !for_good && occasion.acts < planned.rhythm.times;
    set_alarm(occasion, again ? now + planned.rhythm.off : results::never);
    if (for_good) {
        occasion.finished = true;
        stop_watching(occasion);
    }
}

void Injector::State::look(Occasion& occasion, const Moment& moment, Levers& levers) {
    if (!occasion.watching) return;
    const scenarios::Trigger& trigger = when(occasion);
    if (over(trigger, moment)) {
        if (occasion.active) return revert(occasion, moment.now, levers, true);
        occasion.finished = true;
        return stop_watching(occasion);
    }
    const bool waits = !from_start(trigger) && !by_clock(trigger) &&
                       (trigger.always || (!occasion.active && occasion.acts == 0));
    if (!waits || !fits(trigger, moment) || ++occasion.matches < trigger.nth) return;
    const bool first = !occasion.active;
    if (apply(occasion, moment, levers) && first) {
        mark_applied(occasion.fault, occasion.rank, moment, levers);
    }
}

void Injector::State::ring(Occasion& occasion, Time now, Levers& levers) {
    set_alarm(occasion, results::never);
    if (occasion.finished) return;
    if (occasion.active) return revert(occasion, now, levers, false);
    const Moment moment{.rank = occasion.rank, .now = now};
    if (apply(occasion, moment, levers)) {
        mark_applied(occasion.fault, occasion.rank, moment, levers);
    }
}

Injector::Injector() : state_(std::make_unique<State>()) {}
Injector::Injector(Injector&&) noexcept = default;
Injector::~Injector() = default;

scenarios::Result<Injector> Injector::make(const std::vector<scenarios::FaultSpec>& faults,
                                           results::Truth& truth) {
    Injector injector;
    State& state = *injector.state_;
    state.truth = &truth;
    for (const scenarios::FaultSpec& spec : faults) {
        auto planned = make_fault(spec);
        if (!planned) return tl::unexpected(planned.error());
        state.faults.push_back(std::move(*planned));
    }
    for (std::size_t fault = 0; fault < state.faults.size(); ++fault) state.add(fault);
    return injector;
}

scenarios::Result<Done> Injector::at_start(Levers& levers) {
    State& state = *state_;
    for (std::size_t fault = 0; fault < state.faults.size(); ++fault) {
        if (!from_start(state.faults[fault].spec.when)) continue;
        for (Occasion& occasion : state.occasions) {
            if (occasion.fault != fault) continue;
            if (!state.apply(occasion, {}, levers)) return tl::unexpected(*state.refusal);
        }
        // One mark for all of its ranks: they were all broken in the same moment.
        if (!state.faults[fault].ranks.empty()) {
            state.mark_applied(fault, results::no_rank, {}, levers);
        }
    }
    return Done{};
}

bool Injector::armed(Rank rank) const {
    const auto index = static_cast<std::size_t>(rank);
    return state_->watching_anyone > 0 || (index < state_->watching.size() && state_->watching[index] > 0);
}

void Injector::at(const Moment& moment, Levers& levers) {
    State& state = *state_;
    const auto rank = static_cast<std::size_t>(moment.rank);
    if (rank < state.by_rank.size()) {
        for (const std::size_t index : state.by_rank[rank])
            state.look(state.occasions[index], moment, levers);
    }
    for (const std::size_t index : state.of_anyone) state.look(state.occasions[index], moment, levers);
}

Time Injector::next_alarm() const {
    return state_->alarms.empty() ? results::never : state_->alarms.begin()->first;
}

void Injector::tick(Time now, Levers& levers) {
    while (next_alarm() <= now) {
        state_->ring(state_->occasions[state_->alarms.begin()->second], now, levers);
    }
}

const std::optional<scenarios::Error>& Injector::refusal() const { return state_->refusal; }

}  // namespace deadrank::inject
