// runners/find/bench.h — Plays plans beside their controls, again and again. Plans that differ in their
// faults alone share one control, which is played once.
#pragma once

#include <memory>
#include <string>

#include "runners/find/harm.h"
#include "runners/line/line.h"

namespace deadrank::runners::find {

// One plan as one saw it.
struct Sight {
    Played fault;
    std::shared_ptr<const Played> control;
    Harm harm = Harm::none;
    int ranks_per_node = 1;

    bool is_job() const;  // the control came to its end: without that, nothing is told by the fault
};

class Bench {
public:
    // All outlive the bench. No `detectors`: all of ours.
    Bench(Runner& runner, const results::Detectors* detectors, std::atomic<bool>* stop)
        : runner_(runner), options_{.stop = stop, .detectors = detectors} {}

    // Errors: those of the runner, and internal after a stop.
    scenarios::Result<Sight> look(const scenarios::Plan& plan);

    // The same plan once more, without its control: for whoever asks whether it is the same run.
    scenarios::Result<Played> again(const scenarios::Plan& plan);

    bool stopped() const { return options_.stop && options_.stop->load(); }
    std::size_t plays() const { return plays_; }

private:
    scenarios::Result<std::shared_ptr<const Played>> control_of(const scenarios::Plan& plan);

    Runner& runner_;
    LineOptions options_;
    scenarios::Plan last_;
    std::shared_ptr<const Played> last_control_;
    std::size_t plays_ = 0;
};

// The plan without its faults.
scenarios::Plan control_of(scenarios::Plan plan);

}  // namespace deadrank::runners::find
