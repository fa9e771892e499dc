// inject/core/injector.cpp — Applies one run's faults at their moments, reverts them, and records in the
// truth what was done and who is to blame.
#include "inject/core/injector.h"

#include <algorithm>
#include <set>

#include "inject/core/trigger.h"
#include "scenarios/model/kind_ids.h"

namespace deadrank::inject {

namespace {

// Passes every pull on, and remembers what the program must ask for before it has an effect.
class Noting final : public Levers {
public:
    Noting(Levers& levers, std::vector<Subject>& subjects) : levers_(levers), subjects_(subjects) {}

    Rank ranks() const override { return levers_.ranks(); }
    int node_of(Rank rank) const override { return levers_.node_of(rank); }
    std::vector<Rank> ranks_of(int node) const override { return levers_.ranks_of(node); }
    Result<Done> pull(const Pull& pull) override {
        auto done = levers_.pull(pull);
        const auto subject = subject_of(pull);
        if (done && subject && std::count(subjects_.begin(), subjects_.end(), *subject) == 0)
            subjects_.push_back(*subject);
        return done;
    }

private:
    Levers& levers_;
    std::vector<Subject>& subjects_;
};

// The value or block of the program that the fault is about; empty when it is about none.
std::string_view program_point(const scenarios::FaultSpec& spec) {
    if (spec.kind == scenarios::FaultId::shift_shard) return "shard.offset";
    for (const char* name : {"seam", "block", "checks"}) {
        const auto found = spec.parameters.find(name);
        if (found != spec.parameters.end()) return found->second.text;
    }
    return {};
}

bool needs_moments(const scenarios::Trigger& when) {
    return (!from_start(when) && !by_clock(when)) || when.until_step >= 0;
}

}  // namespace

// Occasions and their alarms, in the plan's order, so that one plan always acts in the same way.
struct Injector::State {
    std::vector<PlannedFault> faults;
    std::vector<ArmedFault> all_armed;
    std::vector<std::vector<std::size_t>> by_rank;  // indices into occasions
    std::vector<std::size_t> of_anyone;
    std::vector<std::size_t> watching;  // by rank
    std::size_t watching_anyone = 0;
    std::set<std::pair<Time, std::size_t>> alarms;
    results::Truth* truth = nullptr;
    std::optional<scenarios::Error> refusal;
    Gate gate;
    std::optional<std::size_t> alone;  // the one fault of the plan that acts

    const scenarios::Trigger& when(const ArmedFault& armed) const { return faults[armed.fault].spec.when; }
    std::size_t& watchers(Rank rank) {
        return rank < 0 ? watching_anyone : watching[static_cast<std::size_t>(rank)];
    }

    void mark_applied(std::size_t fault, Rank rank, const Moment& moment, const Levers& levers) {
        truth->marks.push_back(applied_mark(fault, faults[fault], rank, moment, levers));
    }
    void add(std::size_t fault);
    void set_alarm(ArmedFault& armed, Time when);
    void stop_watching(ArmedFault& armed);
    bool apply(ArmedFault& armed, const Moment& moment, Levers& levers);
    void revert(ArmedFault& armed, Time now, Levers& levers, bool for_good);
    void note_nearest(ArmedFault& armed, Nearness near);
    void conclude(std::size_t fault, Time now, const Levers& levers);
    void look(ArmedFault& armed, const Moment& moment, Levers& levers);
    void ring(ArmedFault& armed, Time now, Levers& levers);
    bool is_on_node(const ArmedFault& armed, int node, const Levers& levers) const;
    void end(ArmedFault& armed, Time now, Levers& levers);
    bool may_act(ArmedFault& armed);
    void keep_only(std::size_t fault);
};

void Injector::State::add(std::size_t fault) {
    const PlannedFault& planned = faults[fault];
    for (const Rank rank : planned.ranks) {
        ArmedFault armed{.fault = fault, .rank = rank, .watching = needs_moments(planned.spec.when)};
        if (rank >= 0 && by_rank.size() <= static_cast<std::size_t>(rank)) {
            by_rank.resize(static_cast<std::size_t>(rank) + 1);
            watching.resize(by_rank.size(), 0);
        }
        (rank < 0 ? of_anyone : by_rank[static_cast<std::size_t>(rank)]).push_back(all_armed.size());
        if (armed.watching) ++watchers(rank);
        all_armed.push_back(armed);
        if (by_clock(planned.spec.when)) set_alarm(all_armed.back(), Time(planned.spec.when.at));
    }
}

void Injector::State::set_alarm(ArmedFault& armed, Time when) {
    const auto index = static_cast<std::size_t>(&armed - all_armed.data());
    if (armed.alarm != results::never) alarms.erase({armed.alarm, index});
    armed.alarm = when;
    if (when != results::never) alarms.insert({when, index});
}

void Injector::State::stop_watching(ArmedFault& armed) {
    if (armed.watching) --watchers(armed.rank);
    armed.watching = false;
}

// True when the lever moved. A refused fault is finished: a lever that did not move now will not move later.
bool Injector::State::apply(ArmedFault& armed, const Moment& moment, Levers& levers) {
    PlannedFault& planned = faults[armed.fault];
    Noting noting(levers, armed.subjects);
    const auto done = planned.muted ? Result<Done>(Done{}) : planned.fault->apply(noting, armed.rank);
    if (!done) {
        truth->marks.push_back(refused_mark(armed.fault, planned, armed.rank, moment, done.error()));
        if (!refusal) refusal = done.error();
        armed.finished = true;
        stop_watching(armed);
        set_alarm(armed, results::never);
        return false;
    }
    armed.active = true;
    armed.applied = true;
    const auto& trigger = planned.spec.when;
    const Time lasts = trigger.lasts >= 0 ? Time(trigger.lasts) : planned.rhythm.on;
    if (lasts != results::never) set_alarm(armed, moment.now + lasts);
    if (!trigger.always && trigger.until_step < 0) stop_watching(armed);
    return true;
}

void Injector::State::revert(ArmedFault& armed, Time now, Levers& levers, bool for_good) {
    PlannedFault& planned = faults[armed.fault];
    if (!planned.muted) planned.fault->revert(levers, armed.rank);
    truth->marks.push_back(reverted_mark(armed.fault, planned, armed.rank, now));
    armed.active = false;
    ++armed.acts;
    const bool again = !for_good && armed.acts < planned.rhythm.times;
    set_alarm(armed, again ? now + planned.rhythm.off : results::never);
}

void Injector::State::look(ArmedFault& armed, const Moment& moment, Levers& levers) {
    if (!armed.watching) return;
    const scenarios::Trigger& trigger = when(armed);
    // A restart repeats steps and with them the fault, so it is watched for beyond its last step.
    if (over(trigger, moment)) {
        if (armed.active) revert(armed, moment.now, levers, true);
        armed.passed = true;
        return;
    }
    if (std::exchange(armed.passed, false)) armed.acts = armed.matches = 0;
    if (!armed.applied && moment.call == program_point(faults[armed.fault].spec))
        armed.sighting = Sighting{moment.step, std::string(moment.call), moment.now};
    const bool waits =
        !from_start(trigger) && !by_clock(trigger) && (trigger.always || (!armed.active && armed.acts == 0));
    if (!waits) return;
    if (!fits(trigger, moment)) return note_nearest(armed, nearness(trigger, moment));
    if (++armed.matches < trigger.nth) return;
    if (!may_act(armed)) return;
    const bool first = !armed.active;
    if (apply(armed, moment, levers) && first) {
        mark_applied(armed.fault, armed.rank, moment, levers);
    }
}

bool Injector::State::may_act(ArmedFault& armed) {
    if (!gate || armed.applied) return true;
    switch (gate(armed.fault)) {
        case Passage::act:
            return true;
        case Passage::act_without_others:
            keep_only(armed.fault);
            return true;
        case Passage::pass:
            break;
    }
    armed.finished = true;
    stop_watching(armed);
    return false;
}

void Injector::State::keep_only(std::size_t fault) {
    alone = fault;
    gate = nullptr;
    for (ArmedFault& armed : all_armed) {
        if (armed.fault == fault) continue;
        armed.finished = true;
        stop_watching(armed);
        set_alarm(armed, results::never);
    }
}

void Injector::State::note_nearest(ArmedFault& armed, Nearness near) {
    if (armed.applied) return;
    if (!armed.nearest || near.nearer_than(*armed.nearest)) armed.nearest = std::move(near);
}

void Injector::State::conclude(std::size_t fault, Time now, const Levers& levers) {
    const ArmedFault* nearest = nullptr;
    const ArmedFault* unread = nullptr;
    bool any = false, refused = false, effective = false;
    for (const ArmedFault& armed : all_armed) {
        if (armed.fault != fault) continue;
        any = any || armed.applied;
        refused = refused || (armed.finished && !armed.applied && armed.acts == 0);
        if (armed.nearest && (!nearest || armed.nearest->nearer_than(*nearest->nearest))) nearest = &armed;
        if (!armed.applied) continue;
        const bool idle =
            !armed.subjects.empty() &&
            std::all_of(armed.subjects.begin(), armed.subjects.end(),
                        [&](const Subject& subject) { return levers.was_requested(subject) == false; });
        if (idle && !unread) unread = &armed;
        effective = effective || !idle;
    }
    if (!any && !refused) truth->marks.push_back(missed_mark(fault, faults[fault], nearest, now));
    if (any && !effective && unread) truth->marks.push_back(unread_mark(fault, faults[fault], *unread, now));
}

void Injector::State::ring(ArmedFault& armed, Time now, Levers& levers) {
    set_alarm(armed, results::never);
    if (armed.finished) return;
    if (armed.active) return revert(armed, now, levers, false);
    const Moment moment{.rank = armed.rank, .now = now};
    if (apply(armed, moment, levers)) {
        mark_applied(armed.fault, armed.rank, moment, levers);
    }
}

bool Injector::State::is_on_node(const ArmedFault& armed, int node, const Levers& levers) const {
    const scenarios::FaultSpec& spec = faults[armed.fault].spec;
    if (!spec.hardware) return false;
    if (armed.rank >= 0) return levers.node_of(armed.rank) == node;
    const std::vector<int> nodes = nodes_of(spec);
    return std::find(nodes.begin(), nodes.end(), node) != nodes.end();
}

void Injector::State::end(ArmedFault& armed, Time now, Levers& levers) {
    if (armed.active) revert(armed, now, levers, true);
    armed.finished = true;
    stop_watching(armed);
    set_alarm(armed, results::never);
}

std::optional<Subject> subject_of(const Pull& pull) {
    if (const auto* one = std::get_if<SetEnv>(&pull)) return Subject{one->rank, std::string(one->name)};
    if (const auto* one = std::get_if<SetVersion>(&pull))
        return Subject{one->rank, std::string(one->package)};
    if (const auto* one = std::get_if<BendValue>(&pull)) return Subject{one->rank, std::string(one->seam)};
    if (const auto* one = std::get_if<SkipBlock>(&pull); one && one->skip)
        return Subject{one->rank, std::string(one->block)};
    if (const auto* one = std::get_if<CheckValue>(&pull); one && one->check)
        return Subject{one->rank, std::string(one->seam)};
    return std::nullopt;
}

Injector::Injector() : state_(std::make_unique<State>()) {}
Injector::Injector(Injector&&) noexcept = default;
Injector::~Injector() = default;

scenarios::Result<Injector> Injector::make(const FaultCatalog& catalog,
                                           const std::vector<scenarios::FaultSpec>& faults,
                                           results::Truth& truth) {
    Injector injector;
    State& state = *injector.state_;
    state.truth = &truth;
    for (const scenarios::FaultSpec& spec : faults) {
        auto planned = make_fault(catalog, spec);
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
        for (ArmedFault& armed : state.all_armed) {
            if (armed.fault != fault) continue;
            if (!state.apply(armed, {}, levers)) return tl::unexpected(*state.refusal);
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
            state.look(state.all_armed[index], moment, levers);
    }
    for (const std::size_t index : state.of_anyone) state.look(state.all_armed[index], moment, levers);
}

Time Injector::next_alarm() const {
    return state_->alarms.empty() ? results::never : state_->alarms.begin()->first;
}

void Injector::tick(Time now, Levers& levers) {
    while (next_alarm() <= now) {
        state_->ring(state_->all_armed[state_->alarms.begin()->second], now, levers);
    }
}

void Injector::replaced(int node, Time now, Levers& levers) {
    State& state = *state_;
    for (ArmedFault& armed : state.all_armed) {
        if (!armed.finished && state.is_on_node(armed, node, levers)) state.end(armed, now, levers);
    }
}

void Injector::conclude(Time now, const Levers& levers) {
    const std::optional<std::size_t> alone = state_->alone;
    for (std::size_t fault = 0; fault < state_->faults.size(); ++fault) {
        if (!state_->faults[fault].muted && fault == alone.value_or(fault)) state_->conclude(fault, now, levers);
    }
    if (!alone) return;
    for (results::Mark& mark : state_->truth->marks)
        if (mark.fault == static_cast<int>(*alone)) mark.fault = 0;
}

void Injector::ask(Gate gate) { state_->gate = std::move(gate); }

void Injector::mute(std::string_view kind) {
    for (PlannedFault& planned : state_->faults) planned.muted = planned.muted || planned.spec.kind == kind;
}

const std::optional<scenarios::Error>& Injector::refusal() const { return state_->refusal; }

}  // namespace deadrank::inject
