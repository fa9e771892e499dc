// runners/studies/diagnosis_score.cpp — Each trial is played with its fault and as a control; the label is
// looked at last.
#include "runners/studies/diagnosis_score.h"
#include "scenarios/format/resolve.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <thread>

namespace deadrank::runners {

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
        trial.symptom_right = faulty->finding->symptom == scenario.expect.symptom;
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
    LineOptions line_;
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
                               const std::vector<scenarios::Seed>& seeds,
                               const std::function<std::unique_ptr<Runner>()>& make_runner,
                               const scenarios::Vocabulary& vocabulary, const scenarios::Taxonomy& taxonomy,
                               const scenarios::ClueTable& clues, const DiagnosisOptions& options) {
    const Scoring scoring(vocabulary, taxonomy, clues, options);
    const std::size_t count = scenarios.size() * seeds.size();
    std::vector<std::optional<DiagnosedTrial>> trials(count);
    std::atomic<std::size_t> next = 0, done = 0;
    std::mutex telling;
    const auto stopped = [&] { return options.stop && options.stop->load(); };
    const auto work = [&] {
        const std::unique_ptr<Runner> runner = make_runner();
        for (std::size_t i = next++; i < count && !stopped(); i = next++) {
            DiagnosedTrial trial = scoring.one(scenarios[i / seeds.size()], seeds[i % seeds.size()], *runner);
            if (stopped()) return;
            trials[i] = std::move(trial);
            const std::size_t so_far = ++done;
            if (!options.progress) continue;
            const std::lock_guard lock(telling);
            options.progress(so_far, count);
        }
    };
    std::vector<std::thread> helpers;
    for (int i = 1; i < options.threads; ++i) helpers.emplace_back(work);
    work();
    for (std::thread& helper : helpers) helper.join();
    DiagnosisScore score;
    for (auto& trial : trials) {
        if (trial) score.add(std::move(*trial));
    }
    return score;
}

}  // namespace deadrank::runners
