// runners/find/bench.h — Where a plan is tried: played beside its control, and asked whether the fault did
// harm.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "runners/line/line.h"
#include "runners/runner/runner.h"
#include "scenarios/model/plan.h"

namespace deadrank::runners::find {

// A healthy job to do things to, from a workload's name alone: everything as usual.

// Errors: usage, for a workload that there is not.
scenarios::Result<scenarios::Plan> usual_plan(const std::string& workload,
                                              const scenarios::Vocabulary& words);

// A bug of the taxonomy for what was seen: the symptom, and the cause and fix that are reported with it most
// often. `expect` gets the symptom and what of the culprit can be named.
void give_bug(scenarios::Plan& plan, const std::string& symptom, const std::vector<std::string>& blames,
              const scenarios::Taxonomy& taxonomy);

// What a plan did to its job, told from its control run alone: no expectation is needed. It is the job's
// reaction (results/judging/reaction.h) by what it costs: which words an error had does not matter, how long
// the job took does.

// In order of badness.
enum class Harm { none, slower, wrong_result, failed, restarted, hung };

std::string_view name_of(Harm);  // "wrong_result"
std::string_view text_of(Harm);  // "the job ended with another result"

// `slower`: it took a tenth longer than the control, or more.
Harm harm_of(const Record& fault, const Record& control);

// Plays plans beside their controls, again and again. Plans that differ in their faults alone share one
// control, which is played once.

// One plan as one saw it.
struct BenchResult {
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
    scenarios::Result<BenchResult> look(const scenarios::Plan& plan);

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
