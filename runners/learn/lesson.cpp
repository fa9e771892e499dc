// runners/learn/lesson.cpp — A lesson made from a played run.
#include "runners/learn/lesson.h"

#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "results/judging/alarm.h"
#include "results/record/words.h"
#include "runners/learn/course.h"
#include "scenarios/model/python_program.h"
#include "scenarios/model/release.h"

namespace deadrank::runners::learn {

// ── The clues come from evidence alone; truth and findings are used only for the answer.

namespace {

using results::Evidence;

std::string sentence(const scenarios::TaxonomyEntry* entry) {
    return entry ? fmt::format("{}: {}", entry->name, entry->definition) : "";
}

std::string job_words(const scenarios::Plan& plan) {
    const auto nodes = plan.number(plan.cluster, "nodes");
    const std::string on = results::counted(static_cast<std::size_t>(nodes), "node");
    if (plan.workload_kind == scenarios::release_workload) {
        const scenarios::Release release = scenarios::release_of(plan.workload);
        return fmt::format("{} ranks on {}, with {}, and with {}", plan.world_size(), on, release.bug.text(),
                           release.fixed.text());
    }
    if (plan.workload_kind == scenarios::python_workload)
        return fmt::format("{} ranks on {}, a program of PyTorch", plan.world_size(), on);
    return fmt::format("{} ranks on {}, workload {}, {} steps", plan.world_size(), on, plan.workload_kind,
                       plan.number(plan.workload, "steps"));
}

std::string noticed_words(const results::Judgement& judgement) {
    const results::Finding* finding = judgement.answering();
    if (!finding) return {};
    const std::string when = judgement.fault_at == results::never || finding->at < judgement.fault_at
                                 ? "at " + results::duration_text(finding->at)
                                 : results::after_text(finding->at - judgement.fault_at, "the fault");
    return fmt::format("The detector {} said {}: {}", finding->detector, when, finding->says);
}

std::string alarms_of(const Played& played) {
    if (played.findings.empty()) return "none";
    std::string words = played.findings.front().symptom;
    if (played.findings.size() > 1) words += fmt::format(" and {} more", played.findings.size() - 1);
    return words;
}

std::string steps_of(const Evidence& evidence) {
    std::int64_t done = 0;
    for (const results::Event* event : evidence.each<results::StepEnd>())
        done = std::max(done, event->as<results::StepEnd>()->step + 1);
    return std::to_string(done);
}

std::string loss_of(const Evidence& evidence) {
    const auto ends = evidence.each<results::StepEnd>();
    if (ends.empty()) return "—";
    const double loss = ends.back()->as<results::StepEnd>()->loss;
    return std::isfinite(loss) ? fmt::format("{:.4g}", loss) : "NaN";
}

std::string time_of(const Evidence& evidence) {
    return evidence.events().empty() ? "—" : results::duration_text(evidence.events().back().at);
}

void compare(Lesson& lesson, const Trialled& trial) {
    if (!trial.healed) return;
    const Evidence& bad = trial.fault->record.evidence;
    const Evidence& good = trial.healed->record.evidence;
    const auto job = [](const std::optional<results::Judgement>& judgement) {
        return judgement ? std::string(results::reaction_text(judgement->job.reaction)) : "—";
    };
    lesson.sides = {{"the job", job(trial.outcome.fault), job(trial.outcome.healed)},
                    {"steps done", steps_of(bad), steps_of(good)},
                    {"its last word at", time_of(bad), time_of(good)},
                    {"last loss", loss_of(bad), loss_of(good)},
                    {"alarms", alarms_of(*trial.fault), alarms_of(*trial.healed)}};
    lesson.picture_with_bug = results::reports::picture_clue(bad);
    lesson.picture_healed = results::reports::picture_clue(good);
}

}  // namespace

scenarios::Result<Lesson> make_lesson(const scenarios::Scenario& scenario,
                                      const scenarios::Taxonomy& taxonomy, const Trialled& trial) {
    if (!trial.fault || !trial.outcome.fault) {
        return scenarios::refuse(scenarios::ErrorCode::unsupported,
                                 fmt::format("{} cannot be played: {}", scenario.id, trial.outcome.reason),
                                 "choose another lesson; deadrank learn --list has them");
    }
    const scenarios::TaxonomyEntry* symptom = scenarios::find(taxonomy.symptoms, scenario.bug.symptom);
    Lesson lesson;
    lesson.scenario = scenario.id;
    lesson.stage = scenario.bug.stage;
    lesson.title = scenario.teach.title.empty() ? scenario.id : scenario.teach.title;
    lesson.seed = trial.outcome.seed;
    lesson.story = scenario.story;
    lesson.sees = !scenario.teach.sees.empty() ? scenario.teach.sees : symptom ? symptom->sign : "";
    lesson.symptom = sentence(symptom);
    lesson.job = job_words(trial.fault->plan);
    const Evidence* good = trial.control ? &trial.control->record.evidence : nullptr;
    lesson.clues = results::reports::clues(trial.fault->record.evidence, good);
    lesson.question = scenario.teach.question.empty() ? "What is wrong here, and how do you know?"
                                                      : scenario.teach.question;
    lesson.hints = scenario.teach.hints;
    if (lesson.hints.empty() && symptom) lesson.hints.push_back(symptom->sign);
    const results::Judgement& judgement = *trial.outcome.fault;
    lesson.challenges = challenges_for(scenario, taxonomy, trial);
    lesson.answer = scenario.teach.answer;
    lesson.culprit = results::blame_text(judgement.culprit);
    lesson.noticed = noticed_words(judgement);
    lesson.cause = sentence(scenarios::find(taxonomy.causes, scenario.bug.cause));
    lesson.fix = sentence(scenarios::find(taxonomy.fixes, scenario.bug.fix));
    lesson.why = scenario.teach.why.empty() ? scenario.heal.says : scenario.teach.why;
    lesson.reports = scenario.bug.replays;
    compare(lesson, trial);
    return lesson;
}

const std::vector<std::string>& primer() {
    static const std::vector<std::string> words = {
        "A training job is many ranks that do the same: each computes on its own data, and several times a "
        "step "
        "all of them meet in a collective (all_reduce and its kin). Nobody leaves before everybody has come.",
        "So a rank that is late, gone or in another call stops all the others, and the healthy ones are "
        "those "
        "that look stuck. Never ask who waits. Ask who is not where the others are.",
        "Collectives of a group are numbered; a call fits only with the calls of the same number on the "
        "other "
        "ranks, of the same kind, size and type. One call more, less or in another order on one rank is a "
        "desync: compare the last number of each rank, then what each one called under it.",
        "Ranks that did the same are one row. A row that stands alone is where to look first. Where all rows "
        "are "
        "alike, look at what was printed, then at what differs from the last good run."};
    return words;
}

// ── `answer` is what a script would type.

using results::reports::Json;

Json lesson_json(const Lesson& lesson) {
    Json clues = Json::array(), challenges = Json::array();
    for (const auto& clue : lesson.clues) clues.push_back({{"title", clue.title}, {"lines", clue.lines}});
    for (const Challenge& challenge : lesson.challenges) {
        const std::string answer = challenge.choices.empty()
                                       ? challenge.solution()
                                       : std::string(1, static_cast<char>('a' + challenge.choice));
        challenges.push_back({{"asks", challenge.asks}, {"choices", challenge.choices}, {"answer", answer}});
    }
    return {{"id", lesson.scenario},       {"seed", lesson.seed},       {"title", lesson.title},
            {"stage", lesson.stage},       {"sees", lesson.sees},       {"clues", clues},
            {"question", lesson.question}, {"challenges", challenges},  {"hints", lesson.hints},
            {"answer", lesson.answer},     {"culprit", lesson.culprit}, {"cause", lesson.cause},
            {"fix", lesson.fix},           {"why", lesson.why}};
}

}  // namespace deadrank::runners::learn
