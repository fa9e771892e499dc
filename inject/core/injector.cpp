// inject/core/injector.cpp — Applies one run's faults at their moments, reverts them, and records in the
// truth what was done and who is to blame.
#include "inject/core/injector.h"

#include <algorithm>
#include <set>

#include "inject/core/trigger.h"

namespace deadrank::inject {

// Occasions and their alarms, in the plan's order, so that one plan always acts in the same way.

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
    if (spec.kind == "shift_shard") return "shard.offset";
    for (const char* name : {"seam", "block"}) {
        const auto found = spec.parameters.find(name);
        if (found != spec.parameters.end()) return found->second.text;
    }
    return {};
}

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
    void note_nearest(Occasion& occasion, Nearness near);
    void conclude(std::size_t fault, Time now, const Levers& levers);
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

// True when the lever moved. A refused fault is finished: a lever that did not move now will not move later.
bool Injector::State::apply(Occasion& occasion, const Moment& moment, Levers& levers) {
    PlannedFault& planned = faults[occasion.fault];
    Noting noting(levers, occasion.subjects);
    const auto done = planned.muted ? Result<Done>(Done{}) : planned.fault->apply(noting, occasion.rank);
    if (!done) {
        truth->marks.push_back(refused_mark(occasion.fault, planned, occasion.rank, moment, done.error()));
        if (!refusal) refusal = done.error();
        occasion.finished = true;
        stop_watching(occasion);
        set_alarm(occasion, results::never);
        return false;
    }
    occasion.active = true;
    occasion.applied = true;
    const auto& trigger = planned.spec.when;
    const Time lasts = trigger.lasts >= 0 ? Time(trigger.lasts) : planned.rhythm.on;
    if (lasts != results::never) set_alarm(occasion, moment.now + lasts);
    if (!trigger.always && trigger.until_step < 0) stop_watching(occasion);
    return true;
}

void Injector::State::revert(Occasion& occasion, Time now, Levers& levers, bool for_good) {
    PlannedFault& planned = faults[occasion.fault];
    if (!planned.muted) planned.fault->revert(levers, occasion.rank);
    truth->marks.push_back(reverted_mark(occasion.fault, planned, occasion.rank, now));
    occasion.active = false;
    ++occasion.acts;
    const bool again = !for_good && occasion.acts < planned.rhythm.times;
    set_alarm(occasion, again ? now + planned.rhythm.off : results::never);
}

void Injector::State::look(Occasion& occasion, const Moment& moment, Levers& levers) {
    if (!occasion.watching) return;
    const scenarios::Trigger& trigger = when(occasion);
    // A restart repeats steps and with them the fault, so it is watched for beyond its last step.
    if (over(trigger, moment)) {
        if (occasion.active) revert(occasion, moment.now, levers, true);
        occasion.passed = true;
        return;
    }
    if (std::exchange(occasion.passed, false)) occasion.acts = occasion.matches = 0;
    if (!occasion.applied && moment.call == program_point(faults[occasion.fault].spec))
        occasion.sighting = Sighting{moment.step, std::string(moment.call), moment.now};
    const bool waits = !from_start(trigger) && !by_clock(trigger) &&
                       (trigger.always || (!occasion.active && occasion.acts == 0));
    if (!waits) return;
    if (!fits(trigger, moment)) return note_nearest(occasion, nearness(trigger, moment));
    if (++occasion.matches < trigger.nth) return;
    const bool first = !occasion.active;
    if (apply(occasion, moment, levers) && first) {
        mark_applied(occasion.fault, occasion.rank, moment, levers);
    }
}

void Injector::State::note_nearest(Occasion& occasion, Nearness near) {
    if (occasion.applied) return;
    if (!occasion.nearest || near.nearer_than(*occasion.nearest)) occasion.nearest = std::move(near);
}

void Injector::State::conclude(std::size_t fault, Time now, const Levers& levers) {
    const Occasion* nearest = nullptr;
    const Occasion* unread = nullptr;
    bool any = false, refused = false, effective = false;
    for (const Occasion& occasion : occasions) {
        if (occasion.fault != fault) continue;
        any = any || occasion.applied;
        refused = refused || (occasion.finished && !occasion.applied && occasion.acts == 0);
        if (occasion.nearest && (!nearest || occasion.nearest->nearer_than(*nearest->nearest)))
            nearest = &occasion;
        if (!occasion.applied) continue;
        const bool idle =
            !occasion.subjects.empty() &&
            std::all_of(occasion.subjects.begin(), occasion.subjects.end(),
                        [&](const Subject& subject) { return levers.was_asked(subject) == false; });
        if (idle && !unread) unread = &occasion;
        effective = effective || !idle;
    }
    if (!any && !refused) truth->marks.push_back(missed_mark(fault, faults[fault], nearest, now));
    if (any && !effective && unread) truth->marks.push_back(unread_mark(fault, faults[fault], *unread, now));
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

std::optional<Subject> subject_of(const Pull& pull) {
    if (const auto* one = std::get_if<SetEnv>(&pull)) return Subject{one->rank, std::string(one->name)};
    if (const auto* one = std::get_if<SetVersion>(&pull))
        return Subject{one->rank, std::string(one->package)};
    if (const auto* one = std::get_if<BendValue>(&pull)) return Subject{one->rank, std::string(one->seam)};
    if (const auto* one = std::get_if<SkipBlock>(&pull); one && one->skip)
        return Subject{one->rank, std::string(one->block)};
    return std::nullopt;
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

void Injector::conclude(Time now, const Levers& levers) {
    for (std::size_t fault = 0; fault < state_->faults.size(); ++fault) {
        if (!state_->faults[fault].muted) state_->conclude(fault, now, levers);
    }
}

void Injector::mute(std::string_view kind) {
    for (PlannedFault& planned : state_->faults) planned.muted = planned.muted || planned.spec.kind == kind;
}

const std::optional<scenarios::Error>& Injector::refusal() const { return state_->refusal; }

}  // namespace deadrank::inject
