// inject/core/injector.h — Faults and their moments for one run: applies, takes back, and keeps for the truth
// what was done and who is to blame.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "inject/core/fault.h"
#include "inject/core/trigger.h"
#include "results/record/truth.h"

namespace deadrank::inject {

// What the truth keeps of a fault: that it was applied, taken back or refused, and who is really to blame.

// `rank`: whose occasion it was; no_rank = all of the fault's ranks at once. `fault` is the index in the
// plan.
results::Mark applied_mark(std::size_t fault, const PlannedFault& planned, Rank rank, const Moment& moment,
                           const Levers& levers);
results::Mark reverted_mark(std::size_t fault, const PlannedFault& planned, Rank rank, Time now);
results::Mark refused_mark(std::size_t fault, const PlannedFault& planned, Rank rank, const Moment& moment,
                           const scenarios::Error& error);

// Watches every rank's moments and applies the plan's faults when theirs has come. What it did goes to the
// truth at once, with who is really to blame; what a backend refused does too.

// One fault on one rank: what it waits for, and how far it has come. Every rank of a fault has its own, so
// that "the third all_reduce" is each rank's own third.

struct Occasion {
    std::size_t fault = 0;  // index in the plan
    Rank rank = results::no_rank;
    std::int64_t matches = 0;
    std::int64_t acts = 0;  // completed: applied and reverted
    bool watching = false;  // still needs its rank's moments
    bool active = false;    // applied, and not reverted since
    bool finished = false;  // nothing more will come of it
    Time alarm = results::never;
};

class Injector {
public:
    // Fails when a kind is unknown; a plan that was resolved never does. `truth` outlives the injector.
    static scenarios::Result<Injector> make(const std::vector<scenarios::FaultSpec>& faults,
                                            results::Truth& truth);
    Injector(Injector&&) noexcept;
    ~Injector();

    // Faults of the start. An `unsupported` answer ends the run as unknown, with that sentence.
    scenarios::Result<Done> at_start(Levers& levers);

    // Does any fault still wait for a moment of this rank? Backends skip `at` for the others.
    bool armed(Rank rank) const;
    void at(const Moment& moment, Levers& levers);

    // Faults by time, and the end of those that last only for a while: the backend calls tick() at
    // next_alarm().
    Time next_alarm() const;  // `never` when there is none
    void tick(Time now, Levers& levers);

    // The first lever that was refused: the run is then unknown. The truth has all of them.
    const std::optional<scenarios::Error>& refusal() const;

private:
    Injector();
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace deadrank::inject
