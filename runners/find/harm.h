// runners/find/harm.h — Tries a plan: plays it beside its control, and reports whether the fault did harm.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "runners/backend/runner.h"
#include "runners/pipeline/play_trial.h"
#include "scenarios/model/plan.h"

namespace deadrank::runners::find {

// A healthy job from a workload's name alone, with every value at its default.
// Errors: usage, for an unknown workload.
scenarios::Result<scenarios::Plan> usual_plan(const std::string& workload,
                                              const scenarios::Vocabulary& words);

// Gives the plan a bug of the taxonomy for what was seen: the symptom, with the cause and fix most often
// reported for it. `expect` gets the symptom and the nameable parts of the culprit.
void give_bug(scenarios::Plan& plan, const std::string& symptom, const scenarios::BlameFields& blames,
              const scenarios::Taxonomy& taxonomy);

// ── What a plan did to its job, compared with its control alone, without an expectation. It is the job's
// reaction (results/judging/reaction.h) by cost: the wording of an error does not matter, the time taken
// does.

// From harmless to worst.
enum class Harm { none, slower, wrong_result, failed, restarted, hung };

std::string_view name_of(Harm);  // "wrong_result"
std::string_view text_of(Harm);  // "the job ended with another result"

// `slower`: it took a tenth longer than the control, or more.
Harm harm_of(const Record& fault, const Record& control);

// ── Plays many plans beside their controls. Plans that differ only in their faults share one control, which
// is played once.

// One plan and its outcome.
struct TrialedPlan {
    Played fault;
    std::shared_ptr<const Played> control;
    Harm harm = Harm::none;
    int ranks_per_node = 1;

    bool is_job() const;  // the control ended: otherwise the fault run shows nothing
};

class PlanTrials {
public:
    // All outlive it. Null `detectors`: all of ours.
    PlanTrials(Runner& runner, const results::Detectors* detectors, std::atomic<bool>* stop)
        : runner_(runner), options_{.stop = stop, .detectors = detectors} {}

    // Errors: those of the runner, and internal after a stop.
    scenarios::Result<TrialedPlan> try_plan(const scenarios::Plan& plan);

    // Plays the plan again without its control, to check that it is the same run.
    scenarios::Result<Played> repeat(const scenarios::Plan& plan);

    bool stopped() const { return options_.stop && options_.stop->load(); }
    std::size_t plays() const { return plays_; }

private:
    scenarios::Result<std::shared_ptr<const Played>> control_of(const scenarios::Plan& plan);

    Runner& runner_;
    PipelineOptions options_;
    scenarios::Plan last_;
    std::shared_ptr<const Played> last_control_;
    std::size_t plays_ = 0;
};

// The plan without its faults.
scenarios::Plan control_of(scenarios::Plan plan);

}  // namespace deadrank::runners::find
