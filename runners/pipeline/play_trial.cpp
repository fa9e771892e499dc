// runners/pipeline/play_trial.cpp — Plays the control first: without it a wrong result of the faulty run
// cannot be told from a right one.
#include "runners/pipeline/play_trial.h"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>

#include "runners/pipeline/excerpt.h"
#include "runners/pipeline/run_files.h"
#include "runners/pipeline/token.h"
#include "scenarios/format/plan_file.h"

namespace deadrank::runners {

namespace {

using results::Judgement;
using results::Verdict;
using scenarios::Plan;
using scenarios::Variant;

bool stopped(const PipelineOptions& options) { return options.stop && options.stop->load(); }

double seconds_since(std::chrono::steady_clock::time_point begin) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void keep_notes(const Played& played, std::vector<std::string>& notes) {
    for (const std::string& note : played.record.notes) {
        if (std::count(notes.begin(), notes.end(), note) == 0) notes.push_back(note);
    }
}

// One trial, a scenario under a seed, while it is played.
class TrialUnderWay {
public:
    TrialUnderWay(const scenarios::Trial& trial, Runner& runner, const PipelineOptions& options,
                  Trialled& result)
        : trial_(trial), runner_(runner), options_(options), result_(result) {
        if (!options.out.empty())
            directory_.emplace(options.out, trial.fault.scenario, trial.fault.seed.number);
    }

    void play_all() {
        results::Case& outcome = result_.outcome;
        if (options_.control) outcome.control = play_one(trial_.control, result_.control);
        outcome.fault = play_one(trial_.fault, result_.fault);
        if (options_.healed) outcome.healed = play_healed();
        if (result_.healed && result_.fault && outcome.fault->verdict != Verdict::unknown) {
            results::compare_with_fault_run(*outcome.healed, trial_.healed, result_.fault->record,
                                            result_.fault->findings);
        }
        if (result_.healed && result_.control) {
            results::compare_with_control(*outcome.healed, result_.healed->record.evidence,
                                          result_.control->record.evidence);
        }
        outcome.conclude();
        if (result_.fault) describe(*result_.fault);
        if (directory_) write_verdict();
    }

private:
    Judgement play_one(const Plan& plan, std::optional<Played>& kept) {
        const std::filesystem::path raw = directory_ ? directory_->of(plan.variant) : std::filesystem::path();
        auto played = play_plan(plan, runner_, options_, raw);
        if (!played) return results::unjudged(played.error().text());
        kept = std::move(*played);
        if (directory_) note(directory_->write(*kept));
        const results::Evidence* control = result_.control ? &result_.control->record.evidence : nullptr;
        return results::judge(plan, kept->record, kept->findings, control);
    }

    Judgement play_healed() {
        for (const auto& [setting, value] : trial_.healed.workload) {
            const auto before = trial_.fault.workload.find(setting);
            const bool changed = before == trial_.fault.workload.end() || !(before->second == value);
            if (changed && !runner_.reads(trial_.healed, setting))
                return results::unjudged(fmt::format(
                    "it is healed by the setting '{}', which the program played here does not read",
                    setting));
        }
        return play_one(trial_.healed, result_.healed);
    }

    void describe(const Played& played) {
        results::Case& outcome = result_.outcome;
        outcome.trace_hash = played.record.trace_hash;
        outcome.token =
            to_text(token_of(played.plan, runner_.name(), options_.explore_order, outcome.trace_hash));
        keep_notes(played, outcome.notes);
        if (outcome.verdict != Verdict::pass)
            outcome.excerpt = excerpt(played.record.evidence, *outcome.fault);
    }

    void write_verdict() {
        result_.outcome.directory = directory_->path();
        note(directory_->write(result_.outcome));
    }

    // A failed write loses the files, not the verdict.
    void note(const scenarios::Result<void>& written) {
        if (!written) result_.outcome.notes.push_back("not written: " + written.error().text());
    }

    const scenarios::Trial& trial_;
    Runner& runner_;
    const PipelineOptions& options_;
    Trialled& result_;
    std::optional<RunDirectory> directory_;
};

}  // namespace

scenarios::Result<Played> play_plan(const Plan& plan, Runner& runner, const PipelineOptions& options,
                                    const std::filesystem::path& raw_logs) {
    if (stopped(options))
        return scenarios::refuse(scenarios::ErrorCode::internal, "it was stopped before it began");
    RunOptions how;
    how.directory = raw_logs;
    how.order_seed = options.order_seed;
    if (options.explore_order) how.order_seed = plan.seed.number;
    how.memory = options.memory;
    how.stop = options.stop;
    how.branches = options.branches;
    how.left_files = options.left_files;
    how.healthy_left = options.healthy_left;
    auto record = runner.run(plan, how);
    if (!record) return tl::unexpected(record.error());
    return with_findings(plan, std::move(*record), options);
}

Played with_findings(const Plan& plan, Record record, const PipelineOptions& options) {
    record.truth.interrupted = stopped(options);
    std::vector<results::Finding> findings;
    if (!record.truth.interrupted) {  // half a run proves nothing, and the user is waiting
        findings = options.detectors ? results::detect(record.evidence, *options.detectors)
                                     : results::detect(record.evidence, results::all_detectors());
    }
    return {plan, std::move(record), std::move(findings)};
}

Trialled play(const scenarios::Scenario& scenario, scenarios::Seed seed, Runner& runner,
              const scenarios::Vocabulary& vocabulary, const PipelineOptions& options) {
    const auto begin = std::chrono::steady_clock::now();
    Trialled result;
    result.outcome = results::unknown_case(scenario, seed.number, std::string(runner.name()), "");
    if (std::string missing = runner.find_missing(scenario); !missing.empty()) {
        result.outcome.reason = result.outcome.skipped = std::move(missing);
        return result;
    }
    try {
        const auto trial = scenarios::resolve(scenario, seed, runner.capabilities(), vocabulary);
        if (trial) {
            TrialUnderWay(*trial, runner, options, result).play_all();
        } else {
            result.outcome.reason = trial.error().text();
        }
    } catch (const std::exception& thrown) {
        result.outcome.verdict = Verdict::unknown;
        result.outcome.reason = scenarios::is_host_failure(thrown)
                                    ? scenarios::host_error(thrown).text()
                                    : fmt::format("internal error: {}", thrown.what());
    }
    result.outcome.seconds = seconds_since(begin);
    return result;
}

}  // namespace deadrank::runners
