// runners/backends/ranks/gate.h — Before each call of a rank, lets the faults act that are due, on the job's
// own clock.
#pragma once

#include <functional>
#include <vector>

#include "inject/core/injector.h"
#include "results/record/time.h"
#include "results/record/truth.h"
#include "runners/backends/ranks/rank_levers.h"
#include "runners/backends/ranks/trail.h"
#include "scenarios/model/plan.h"
#include "sim/machine/call.h"

namespace deadrank::runners {

// Applies a plan's faults to a rank: each call passes here first. A fault is written to the truth before it
// acts, so that a rank that it kills still leaves its mark.

// What only the process around the rank can do.
struct Keeper {
    std::function<void(results::Time after)> resume_after;  // stops this process; negative = for good
};

class Gate {
public:
    // Both trails must outlive it. Errors: those of inject::Injector::make, and a refused lever of the start.
    static scenarios::Result<std::unique_ptr<Gate>> make(const scenarios::Plan& plan, const Reach& reach,
                                                         results::Rank own, Trail& evidence, Trail& truth,
                                                         Keeper keeper);

    RealLevers& levers() { return levers_; }
    void pass(sim::Call& call);   // fills in rank and time; delays, kills, stops
    bool plain(sim::Call& call);  // the same for calls that carry no message; true: skip it
    void tick();                  // faults by the clock; called wherever the rank waits

    results::Time now() const { return evidence_.clock().now(); }

    // Waits for that much job time, or until `done`; timed faults act meanwhile.
    void sleep(results::Time job);
    void wait(const std::function<bool()>& done);

    std::int64_t step = -1;
    results::Phase phase = results::Phase::none;

private:
    Gate(const scenarios::Plan& plan, const Reach& reach, results::Rank own, Trail& evidence, Trail& truth,
         Keeper keeper);
    void flush(const inject::Moment& moment);
    void mark_passed();

    results::Rank own_;
    RealLevers levers_;
    Trail& evidence_;
    Trail& truth_;
    Keeper keeper_;
    results::Truth marks_;
    std::size_t written_ = 0;
    std::vector<std::size_t> index_;  // of our faults in the plan
    std::unique_ptr<inject::Injector> injector_;
};

}  // namespace deadrank::runners
