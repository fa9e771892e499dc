// runners/score/proofs.cpp — Plays each scenario as a trial, and once more for each kind of fault with its
// lever muted: marks and triggers stay, so that only the fault's action is missing.
#include "runners/score/proofs.h"

#include <algorithm>
#include <set>

#include "results/detectors/detector.h"
#include "results/judging/judge.h"
#include "runners/pipeline/play_trial.h"
#include "scenarios/format/plan_file.h"

namespace deadrank::runners {

namespace {

using results::Outcome;
using results::Time;
using scenarios::Scenario;

void note_once(std::vector<std::string>& list, const std::string& id) {
    if (list.empty() || list.back() != id) list.push_back(id);
}

class Proving {
public:
    Proving(Runner& simulator, const scenarios::Vocabulary& vocabulary, const ProofOptions& options)
        : simulator_(simulator), vocabulary_(vocabulary), options_(options) {}

    void add(const Scenario& scenario) {
        Time needed{0};
        bool caught = true;
        for (std::uint64_t seed = options_.first_seed; seed <= options_.last_seed; ++seed) {
            Trialled trial = play(scenario, {seed}, simulator_, vocabulary_);
            if (!trial.fault || !trial.control || !trial.outcome.fault) return;
            const results::Judgement& judged = *trial.outcome.fault;
            if (judged.outcome == Outcome::not_applied) note_once(proofs_.idle, scenario.id);
            caught = caught && judged.outcome == Outcome::caught;
            if (judged.outcome == Outcome::caught)
                needed = std::max(needed, std::max(Time{0}, judged.noticed_at - judged.fault_at));
            if (seed != options_.first_seed) continue;
            note_heal(scenario, trial);
            note_cause(scenario, judged);
            note_sources(scenario, *trial.fault);
            if (options_.mute) mute_each_kind(scenario, trial.fault->plan);
        }
        if (!caught) return;
        proofs_.needed[scenario.id] = needed;
        const Time most = bound_multiple * std::max(needed, one_look);
        const bool reason = scenario.expect.because.contains("within");
        if (Time{scenario.expect.within} > most && !reason) proofs_.loose.push_back(scenario.id);
    }

    Proofs done() { return std::move(proofs_); }

private:
    void note_heal(const Scenario& scenario, const Trialled& trial) {
        if (!trial.healed) return;
        const bool same = same_events(trial.healed->record.evidence, trial.control->record.evidence);
        auto& list = same                                ? proofs_.heals_that_are_controls
                     : !scenario.heal.workaround.empty() ? proofs_.heals_that_work_around
                     : scenario.heal.keeps_a_fault()     ? proofs_.heals_with_trigger
                                                         : proofs_.heals_by_settings;
        list.push_back(scenario.id);
    }

    // Counted separately from the verdict: a detector may see what is wrong without knowing why.
    void note_cause(const Scenario& scenario, const results::Judgement& judged) {
        const results::Finding* answer = judged.answering();
        if (judged.outcome != Outcome::caught || !answer) return;
        const auto& causes = answer->causes;
        auto& list = causes.empty()                         ? proofs_.causes_missing
                     : causes.front() == scenario.bug.cause ? proofs_.causes_right
                     : std::count(causes.begin(), causes.end(), scenario.bug.cause) > 0
                         ? proofs_.causes_second
                         : proofs_.causes_wrong;
        list.push_back(scenario.id);
    }

    // Runs the detectors again on less evidence; the job's reaction is not judged here.
    void note_sources(const Scenario& scenario, Played& played) {
        scenarios::Plan plan = played.plan;
        plan.expect.reaction = scenarios::WantedReaction::any;
        plan.expect.recovers_within = -1;
        if (!scenario.expect.unseen.empty()) return;
        for (const results::Source source : results::all_sources) {
            const auto findings = results::detect(results::limited_to(played.record.evidence, source),
                                                  results::all_detectors());
            const results::Judgement judged = results::judge(plan, played.record, findings);
            const results::Finding* answer = judged.answering();
            if (judged.outcome != Outcome::caught || !answer) continue;
            const auto place = static_cast<std::size_t>(source);
            ++proofs_.caught[place];
            ++proofs_.caught_by[std::string(answer->detector)][place];
        }
    }

    void mute_each_kind(const Scenario& scenario, const scenarios::Plan& plan) {
        std::set<std::string> kinds;
        for (const auto& fault : plan.faults) kinds.insert(fault.kind);
        for (const std::string& kind : kinds) {
            RunOptions options;
            options.muted = {kind};
            const auto record = simulator_.run(plan, options);
            if (!record) continue;
            const auto findings = results::detect(record->evidence, results::all_detectors());
            const results::Judgement judged = results::judge(plan, *record, findings);
            MutedKind& muted = proofs_.muted[kind];
            ++muted.scenarios;
            if (judged.outcome == Outcome::silent || judged.outcome == Outcome::wrong_class)
                muted.red.push_back(scenario.id);
            if (judged.outcome == Outcome::caught) muted.caught.push_back(scenario.id);
        }
    }

    Runner& simulator_;
    const scenarios::Vocabulary& vocabulary_;
    const ProofOptions& options_;
    Proofs proofs_;
};

}  // namespace

Proofs prove(const std::vector<Scenario>& scenarios, Runner& simulator,
             const scenarios::Vocabulary& vocabulary, const ProofOptions& options) {
    Proving proving(simulator, vocabulary, options);
    for (const Scenario& scenario : scenarios) proving.add(scenario);
    return proving.done();
}

}  // namespace deadrank::runners
