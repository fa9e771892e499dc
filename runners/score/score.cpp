// runners/score/score.cpp — How good detectors and the diagnosis are, over many runs.
#include "runners/score/score.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>

#include "results/record/words.h"
#include "scenarios/format/plan_file.h"

namespace deadrank::runners {

// ── All tools have the same judge; only the expectation is reduced to what a tool can report.

namespace {

using results::Case;
using results::Finding;
using results::has;

bool in_field(const Tool& tool, const scenarios::Expectation& expect) {
    for (const auto& detector : tool.detectors) {
        for (const std::string_view symptom : detector->symptoms()) {
            if (expect.is_answered_by(symptom) || has(expect.also, symptom)) return true;
        }
    }
    return false;
}

// Plays without detectors; the tools are asked later.
Trialled play_without_detectors(const Job& job, Runner& runner, const scenarios::Vocabulary& vocabulary,
                                std::atomic<bool>* stop) {
    static const results::Detectors nobody;
    PipelineOptions options;
    options.detectors = &nobody;
    options.healed = false;
    options.stop = stop;
    return play(*job.scenario, job.seed, runner, vocabulary, options);
}

}  // namespace

scenarios::Expectation expectation_for(const Tool& tool, scenarios::Expectation expect,
                                       const std::vector<Finding>& findings) {
    if (!tool.blames.empty())
        std::erase_if(expect.blames, [&](scenarios::BlameField field) {
            return std::count(tool.blames.begin(), tool.blames.end(), field) == 0;
        });
    expect.reaction = scenarios::WantedReaction::any;
    expect.recovers_within = -1;
    const bool due = std::any_of(findings.begin(), findings.end(),
                                 [&](const Finding& one) { return expect.is_answered_by(one.symptom); });
    if (due) return expect;
    for (const Finding& finding : findings) {
        if (!has(expect.also, finding.symptom)) continue;
        std::replace(expect.also.begin(), expect.also.end(), finding.symptom, expect.symptom);
        expect.symptom = finding.symptom;
        break;
    }
    return expect;
}

ToolCase judge_tool(const Tool& tool, const Trialled& played) {
    ToolCase result;
    Case& one = result.outcome;
    one = played.outcome;
    one.fault.reset();
    one.control.reset();
    one.verdict = results::Verdict::unknown;
    result.in_field = in_field(tool, one.expect);
    result.pinned = results::known_limit(tool.name, tool.version, one.scenario);
    if (played.control) {
        const Record& record = played.control->record;
        one.control =
            results::judge(played.control->plan, record, results::detect(record.evidence, tool.detectors));
    }
    if (!played.fault) return result;
    const Record& record = played.fault->record;
    const auto findings = results::detect(record.evidence, tool.detectors);
    scenarios::Plan plan = played.fault->plan;
    plan.expect = one.expect = expectation_for(tool, plan.expect, findings);
    one.fault =
        results::judge(plan, record, findings, played.control ? &played.control->record.evidence : nullptr);
    one.conclude();
    return result;
}

std::vector<std::vector<ToolCase>> score_tools(const std::vector<Tool>& tools, const std::vector<Job>& jobs,
                                               const MakeRunner& make_runner,
                                               const scenarios::Vocabulary& vocabulary,
                                               const ScoreOptions& options) {
    std::vector<std::map<std::size_t, ToolCase>> by_tool(tools.size());
    std::mutex mutex;
    const auto stopped = [&] { return options.stop && options.stop->load(); };
    const Workers workers{make_runner, options.threads, options.stop, options.progress};
    for_each_index(jobs.size(), workers, [&](std::size_t i, Runner& runner) {
        const Trialled played = play_without_detectors(jobs[i], runner, vocabulary, options.stop);
        for (std::size_t tool = 0; tool < tools.size() && !stopped(); ++tool) {
            if (!tools[tool].missing.empty()) continue;
            ToolCase judged = judge_tool(tools[tool], played);
            const std::lock_guard lock(mutex);
            if (!stopped()) by_tool[tool].emplace(i, std::move(judged));
        }
    });
    std::vector<std::vector<ToolCase>> cases(tools.size());
    for (std::size_t tool = 0; tool < tools.size(); ++tool) {
        for (auto& [index, one] : by_tool[tool]) cases[tool].push_back(std::move(one));
    }
    return cases;
}

// ── Each trial is played with its fault and as a control; the label is compared last.

namespace {

using results::diagnosis::Diagnosis;

template <class Rows, class Id>
std::size_t place_of(const Rows& rows, const std::string& wanted, Id id) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (rows[i].*id == wanted) return i + 1;
    }
    return 0;
}

class Scoring {
public:
    Scoring(const scenarios::Vocabulary& vocabulary, const scenarios::Taxonomy& taxonomy,
            const scenarios::ClueTable& clues, const DiagnosisOptions& options)
        : vocabulary_(vocabulary), taxonomy_(taxonomy), clues_(clues) {
        line_.stop = options.stop;
    }

    DiagnosedTrial one(const scenarios::Scenario& scenario, scenarios::Seed seed, Runner& runner) const {
        DiagnosedTrial trial{
            .scenario = scenario.id, .seed = seed.number, .bug = scenario.bug, .trouble = {}};
        trial.unseen = !scenario.expect.unseen.empty();
        const auto plans = scenarios::resolve(scenario, seed, runner.capabilities(), vocabulary_);
        if (!plans) {
            trial.trouble = plans.error().text();
            return trial;
        }
        const auto faulty = diagnosed(plans->fault, runner, trial);
        const auto control = diagnosed(plans->control, runner, trial);
        if (!faulty || !control) return trial;
        trial.control_healthy = control->healthy();
        if (faulty->healthy()) return trial;
        trial.symptom_right = scenario.expect.is_answered_by(faulty->finding->symptom);
        trial.cause_place =
            place_of(faulty->causes, scenario.bug.cause, &results::diagnosis::LikelyCause::cause);
        trial.fix_place = place_of(faulty->fixes, scenario.bug.fix, &results::diagnosis::LikelyFix::fix);
        if (!faulty->causes.empty()) trial.named = faulty->causes.front().cause;
        return trial;
    }

private:
    std::optional<Diagnosis> diagnosed(const scenarios::Plan& plan, Runner& runner,
                                       DiagnosedTrial& trial) const {
        const auto played = play_plan(plan, runner, line_);
        if (!played) {
            trial.trouble = played.error().text();
            return std::nullopt;
        }
        return results::diagnosis::diagnose(played->record.evidence, played->findings, taxonomy_, clues_);
    }

    const scenarios::Vocabulary& vocabulary_;
    const scenarios::Taxonomy& taxonomy_;
    const scenarios::ClueTable& clues_;
    PipelineOptions line_;
};

}  // namespace

void Accuracy::count(const DiagnosedTrial& trial) {
    ++trials;
    symptom += trial.symptom_right;
    cause_first += trial.cause_place == 1;
    cause_three += trial.cause_place >= 1 && trial.cause_place <= 3;
    fix_first += trial.fix_place == 1;
    fix_three += trial.fix_place >= 1 && trial.fix_place <= 3;
}

void DiagnosisScore::add(DiagnosedTrial trial) {
    if (!trial.trouble.empty()) {
        ++not_played;
    } else {
        ++controls;
        controls_healthy += trial.control_healthy;
        unseen += trial.unseen;
        if (!trial.unseen) {
            all.count(trial);
            by_symptom[trial.bug.symptom].count(trial);
        }
    }
    trials.push_back(std::move(trial));
}

DiagnosisScore score_diagnosis(const std::vector<scenarios::Scenario>& scenarios,
                               const std::vector<scenarios::Seed>& seeds, const MakeRunner& make_runner,
                               const scenarios::Vocabulary& vocabulary, const scenarios::Taxonomy& taxonomy,
                               const scenarios::ClueTable& clues, const DiagnosisOptions& options) {
    const Scoring scoring(vocabulary, taxonomy, clues, options);
    const std::size_t count = scenarios.size() * seeds.size();
    std::vector<std::optional<DiagnosedTrial>> trials(count);
    const auto stopped = [&] { return options.stop && options.stop->load(); };
    const Workers workers{make_runner, options.threads, options.stop, options.progress};
    for_each_index(count, workers, [&](std::size_t i, Runner& runner) {
        DiagnosedTrial trial = scoring.one(scenarios[i / seeds.size()], seeds[i % seeds.size()], runner);
        if (!stopped()) trials[i] = std::move(trial);
    });
    DiagnosisScore score;
    for (auto& trial : trials) {
        if (trial) score.add(std::move(*trial));
    }
    return score;
}

}  // namespace deadrank::runners
