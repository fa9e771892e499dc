// inject/core/injector.h — Applies one run's faults at their moments, reverts them, and records in the truth
// what was done and who is to blame.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "inject/core/fault.h"
#include "inject/core/trigger.h"
#include "results/record/truth.h"

namespace deadrank::inject {

// ── What the truth records of a fault: that it was applied, reverted or refused, and who is really to
// blame.

// `rank`: whose occasion it was; no_rank = all of the fault's ranks at once. `fault` is the index in the
// plan.
results::Mark applied_mark(std::size_t fault, const PlannedFault& planned, Rank rank, const Moment& moment,
                           const Levers& levers);
results::Mark reverted_mark(std::size_t fault, const PlannedFault& planned, Rank rank, Time now);
results::Mark refused_mark(std::size_t fault, const PlannedFault& planned, Rank rank, const Moment& moment,
                           const scenarios::Error& error);

// At the end of a run: for a fault whose moment never came, and for one whose change nothing read.
struct ArmedFault;
results::Mark missed_mark(std::size_t fault, const PlannedFault& planned, const ArmedFault* nearest,
                          Time now);
results::Mark unread_mark(std::size_t fault, const PlannedFault& planned, const ArmedFault& armed, Time now);

// Where a rank was, kept after the moment is over.
struct Sighting {
    std::int64_t step = -1;
    std::string call;
    Time now{0};
};
std::string sighting_text(const Sighting& sighting);  // "at all_reduce in step 3"

// A moment that did not fit: what it lacked, and how many steps it was away.
struct Nearness {
    int missing = 0;  // conditions of the trigger that it did not meet
    std::int64_t steps_away = 0;
    Sighting sighting;

    bool nearer_than(const Nearness& other) const {
        return std::pair(missing, steps_away) < std::pair(other.missing, other.steps_away);
    }
};
Nearness nearness(const scenarios::Trigger& when, const Moment& moment);

// One fault on one rank: what it waits for, and how far it has come. Every rank of a fault has its own, so
// that "the third all_reduce" is each rank's own third.
struct ArmedFault {
    std::size_t fault = 0;  // index in the plan
    Rank rank = results::no_rank;
    std::int64_t matches = 0;
    std::int64_t acts = 0;  // completed: applied and reverted
    bool watching = false;  // still needs its rank's moments
    bool active = false;    // applied, and not reverted since
    bool finished = false;  // nothing more will come of it
    bool passed = false;    // its last step is over, in this attempt
    Time alarm = results::never;
    bool applied = false;              // at least once
    std::vector<Subject> subjects;     // of what was pulled
    std::optional<Nearness> nearest;   // of the moments that did not fit
    std::optional<Sighting> sighting;  // when the value that it changes was asked for last, before it acted
};

// What becomes of a fault whose moment has come.
enum class Passage {
    act,
    pass,                // it never acts
    act_without_others,  // no other fault of the plan acts: the truth has this one only, as the first
};
using Gate = std::function<Passage(std::size_t fault)>;

// Watches every rank's moments and applies each of the plan's faults at its own. Writes to the truth at once
// what was done, who is really to blame, and what a backend refused.
class Injector {
public:
    // Makes the planned faults from `catalog`. Fails if a kind is not in it. `truth` outlives the injector.
    static scenarios::Result<Injector> make(const FaultCatalog& catalog,
                                            const std::vector<scenarios::FaultSpec>& faults,
                                            results::Truth& truth);
    Injector(Injector&&) noexcept;
    ~Injector();

    // Faults of the start. An `unsupported` answer ends the run as unknown, with that sentence.
    scenarios::Result<Done> at_start(Levers& levers);

    // Asked before a fault acts for the first time.
    void ask(Gate gate);

    // Does any fault still wait for a moment of this rank? Backends skip `at` for the others.
    bool armed(Rank rank) const;
    void at(const Moment& moment, Levers& levers);

    // Faults by time, and the end of those that last only for a while: the backend calls tick() at
    // next_alarm().
    Time next_alarm() const;  // `never` when there is none
    void tick(Time now, Levers& levers);

    // A spare took the place of this node: faults that sit in the machine are over.
    void replaced(int node, Time now, Levers& levers);

    // After the run: writes to the truth which faults never met their moment, and which made a change that
    // nothing read.
    void conclude(Time now, const Levers& levers);

    // Faults of this kind keep their moments and marks but pull no lever: a scenario that still passes proves
    // nothing.
    void mute(std::string_view kind);

    // The first lever that was refused: the run is then unknown. The truth has all of them.
    const std::optional<scenarios::Error>& refusal() const;

private:
    Injector();
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace deadrank::inject
