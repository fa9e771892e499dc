// inject/core/injector.h — Watches every rank's moments and applies the plan's faults when theirs has come.
// What it did goes to the truth at once, with who is really to blame; what a backend refused does too.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "inject/core/fault.h"
#include "inject/core/moment.h"
#include "results/record/truth.h"

namespace deadrank::inject {

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

    void revert_all(Levers& levers) noexcept;

    // After the run: which faults never found their moment, and which changed what nothing asked for
    // afterwards. The truth is told of both.
    void conclude(Time now, const Levers& levers);

    // A fault of this kind keeps its moments and its marks, and its levers do not move: a scenario that is
    // still caught proves nothing.
    void mute(std::string_view kind);

    // The first lever that was refused: the run is then unknown. The truth has all of them.
    const std::optional<scenarios::Error>& refusal() const;

private:
    Injector();
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace deadrank::inject
