// inject/injector.h — Watches every rank's moments and applies the plan's faults when theirs has come.
// What it did goes to the truth at once, with who is really to blame; what a backend refused does too.
#pragma once

#include <memory>
#include <vector>

#include "inject/fault.h"
#include "results/truth.h"

namespace deadrank::inject {

// Where a rank is. Backends report one for each call, phase and step of an armed rank.
struct Moment {
    Rank rank = results::no_rank;
    Time now{0};
    std::int64_t step = -1;
    results::Phase phase = results::Phase::none;
    std::string_view call;  // "all_reduce", "send", "comm_init", "checkpoint_save", seam or block name, "step", "phase"
    std::string_view comm;
};

class Injector {
public:
    // Fails when a kind is unknown; a plan that was resolved never does.
    static scenarios::Result<Injector> make(const std::vector<scenarios::FaultSpec>& faults, results::Truth& truth);
    Injector(Injector&&) noexcept;
    ~Injector();

    // Faults of the start. An `unsupported` answer ends the run as unknown, with that sentence.
    scenarios::Result<Done> at_start(Levers& levers);

    // Does any fault still wait for a moment of this rank? Backends skip `at` for the others.
    bool armed(Rank rank) const;
    void at(const Moment& moment, Levers& levers);

    // Faults by time, and the end of those that last only for a while: the backend calls tick() at next_alarm().
    Time next_alarm() const;  // `never` when there is none
    void tick(Time now, Levers& levers);

    void revert_all(Levers& levers) noexcept;

private:
    Injector();
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace deadrank::inject
