// runners/learn/lesson.cpp — A lesson made from a played run.
#include "runners/learn/lesson.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>
#include <xxhash.h>

#include "results/judging/alarm.h"
#include "results/judging/scorecard.h"
#include "results/record/words.h"
#include "results/reports/page.h"
#include "results/reports/style.h"
#include "runners/learn/course.h"
#include "scenarios/model/python_program.h"
#include "scenarios/model/release.h"

namespace deadrank::runners::learn {

// ── Skills, by symptom. Their texts name what is looked at, not what is found there.

const std::vector<Skill>& skills() {
    static const std::vector<Skill> all = {
        {"errors", "reading errors", "to find, among the errors of many ranks, the one that came first", 1, ""},
        {"start", "reading a start-up", "to follow ranks from their environment to the first communicator", 1,
         "errors"},
        {"hang", "reading a standstill", "to tell from the last calls of all ranks what a job waits for", 2,
         "errors"},
        {"timeout", "reading a time-out", "to tell what a watchdog's line says from what it does not say", 2,
         "hang"},
        {"mismatch", "comparing calls", "to compare what ranks called under one number: kind, size and type", 2,
         "hang"},
        {"machine", "reading counters", "to judge devices, links and step times beside those of a good run", 2,
         "hang"},
        {"memory", "reading memory", "to tell where memory went, and on which side of the bus", 2, "errors"},
        {"restart", "reading a restart", "to compare what was saved, what was loaded, and where a job went on", 3,
         "errors"},
        {"values", "comparing values", "to find a wrong number that nobody reports, beside a good run", 3,
         "mismatch"},
        {"samples", "counting samples", "to check which rank trained on which data", 3, "values"},
    };
    return all;
}

const Skill& skill_for(const scenarios::Bug& bug) {
    static const std::map<std::string_view, std::string_view> by_symptom = {
        {"communication_setup_failure", "start"},
        {"communication_setup_hang", "start"},
        {"wrong_rank_or_group_membership", "start"},
        {"wrong_device_used", "start"},
        {"unexpected_parallelization", "start"},
        {"collective_deadlock_hang", "hang"},
        {"collective_timeout_abort", "timeout"},
        {"remote_peer_connection_error", "timeout"},
        {"collective_mismatch_error", "mismatch"},
        {"collective_transport_degraded", "machine"},
        {"device_fault_reported", "machine"},
        {"straggler_step_time_skew", "machine"},
        {"low_throughput_uniform", "machine"},
        {"device_out_of_memory", "memory"},
        {"unbalanced_rank_memory", "memory"},
        {"host_resource_exhaustion", "memory"},
        {"checkpoint_save_failure", "restart"},
        {"checkpoint_unreadable", "restart"},
        {"reshard_restore_failure", "restart"},
        {"resume_state_regression", "restart"},
        {"restart_or_recovery_failure", "restart"},
        {"loss_nan_or_divergence", "values"},
        {"wrong_intermediate_value", "values"},
        {"parallel_result_mismatch", "values"},
        {"replica_state_divergence", "values"},
        {"inference_output_inconsistency_across_devices", "values"},
        {"wrong_sample_coverage", "samples"},
    };
    const auto found = by_symptom.find(bug.symptom);
    const std::string_view id = found == by_symptom.end() ? "errors" : found->second;
    return *std::find_if(skills().begin(), skills().end(), [&](const Skill& one) { return one.id == id; });
}

std::string_view difficulty_name(int difficulty) {
    static constexpr std::array<std::string_view, 4> names = {"", "easy", "medium", "hard"};
    return names.at(static_cast<std::size_t>(difficulty));
}

// A program is read before it is judged.
int minutes_for(const scenarios::Scenario& scenario) {
    const int reading = scenario.workload_kind == scenarios::python_workload ? 5 : 0;
    return 5 * skill_for(scenario.bug).difficulty + reading;
}

// Six hexadecimal digits of a hash, so that a number stays what it is when lessons are added before it.
std::string case_of(std::string_view scenario) {
    return fmt::format("case-{:06x}", XXH3_64bits(scenario.data(), scenario.size()) & 0xffffff);
}

// ── The clues come from evidence alone; truth and findings are used only for the answer.

namespace {

using results::Evidence;

std::string sentence(const scenarios::TaxonomyEntry* entry) {
    return entry ? fmt::format("{}: {}", entry->name, entry->definition) : "";
}

// "8 ranks on 2 nodes, workload data_parallel, 20 steps"
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

std::string launcher_words(scenarios::LauncherKind launcher) {
    switch (launcher) {
        case scenarios::LauncherKind::torchrun:
            return "torchrun starts the ranks and ends all of them when one fails";
        case scenarios::LauncherKind::bare:
            return "no launcher watches the ranks";
        case scenarios::LauncherKind::mpirun:
            return "mpirun starts the ranks and ends all of them when one fails";
        case scenarios::LauncherKind::test:
            return "a unit test starts the ranks and joins them";
        case scenarios::LauncherKind::replicas:
            return "each rank has a launcher of its own";
        case scenarios::LauncherKind::spawn:
            return "torch.multiprocessing.spawn starts the ranks";
    }
    return {};
}

}  // namespace

std::string watched_words(const scenarios::Plan& plan) {
    if (plan.workload_kind == scenarios::release_workload) return "torchrun starts the ranks";
    using scenarios::LibraryKind;
    const bool gloo = scenarios::cluster_choice<LibraryKind>(plan, "library") == LibraryKind::gloo;
    std::string words = launcher_words(launcher_of(plan));
    if (cluster_number(plan, "watchdog", 1) == 0) return words + "; no watchdog bounds a collective";
    const auto bound = results::Time{cluster_number(plan, "collective_timeout", 600'000'000'000)};
    return words + fmt::format("; {} ends a collective after {}",
                               gloo ? "gloo" : "the watchdog of ProcessGroupNCCL", results::duration_text(bound));
}

namespace {

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

std::int64_t steps_done(const Evidence& evidence) {
    std::int64_t done = 0;
    for (const results::Event* event : evidence.each<results::StepEnd>())
        done = std::max(done, event->as<results::StepEnd>()->step + 1);
    return done;
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
                    {"steps done", std::to_string(steps_done(bad)), std::to_string(steps_done(good))},
                    {"its last word at", time_of(bad), time_of(good)},
                    {"last loss", loss_of(bad), loss_of(good)},
                    {"alarms", alarms_of(*trial.fault), alarms_of(*trial.healed)}};
    lesson.picture_with_bug = results::reports::picture_clue(bad);
    lesson.picture_healed = results::reports::picture_clue(good);
}

}  // namespace

std::pair<std::string, std::string> parts_of_story(std::string_view sees) {
    constexpr std::string_view mark = "The report says: ";
    const std::size_t at = sees.find(mark);
    if (at == std::string_view::npos) return {std::string(sees), ""};
    std::string seen(sees.substr(0, at));
    while (!seen.empty() && seen.back() == ' ') seen.pop_back();
    return {std::move(seen), std::string(sees.substr(at + mark.size()))};
}

// ── What a run shows, in sentences.

namespace {

using results::Event;
using results::Time;

std::vector<Time> step_times(const Evidence& evidence) {
    std::map<std::pair<results::Rank, std::int64_t>, Time> begun;
    std::vector<Time> times;
    for (const Event& event : evidence.events()) {
        if (const auto* begin = event.as<results::StepBegin>()) begun[{event.rank, begin->step}] = event.at;
        if (const auto* end = event.as<results::StepEnd>()) {
            if (const auto found = begun.find({event.rank, end->step}); found != begun.end())
                times.push_back(event.at - found->second);
        }
    }
    std::sort(times.begin(), times.end());
    return times;
}

double last_loss(const Evidence& evidence) {
    const auto ends = evidence.each<results::StepEnd>();
    return ends.empty() ? HUGE_VAL : ends.back()->as<results::StepEnd>()->loss;
}

std::string end_words(const Evidence& evidence) {
    const auto stops = evidence.each<results::JobStop>();
    if (!stops.empty()) {
        const auto* stop = stops.back()->as<results::JobStop>();
        return fmt::format("The job ended after {} with exit code {}.",
                           results::duration_text(stops.back()->at), stop->code);
    }
    Time last{0};
    for (const Event& event : evidence.events()) last = std::max(last, event.at);
    return fmt::format("The job did not end: its last sign of life came after {}, and it was watched for {} more.",
                       results::duration_text(last), results::duration_text(evidence.observed_until() - last));
}

std::string exits_words(const Evidence& evidence) {
    std::map<std::string, std::size_t> ends;
    for (const Event* event : evidence.each<results::RankExit>()) {
        const auto* exit = event->as<results::RankExit>();
        if (exit->signal != 0)
            ++ends[fmt::format("died of signal {}", exit->signal)];
        else
            ++ends[fmt::format("exited with code {}", exit->code)];
    }
    std::string words;
    for (const auto& [how, count] : ends)
        words += fmt::format("{}{} {} {}", words.empty() ? "" : ", ", count, count == 1 ? "process" : "processes", how);
    return words.empty() ? "No process has exited." : "Processes: " + words + ".";
}

}  // namespace

std::vector<std::string> seen_in(const Evidence& evidence, const Evidence* good) {
    std::vector<std::string> seen = {end_words(evidence), exits_words(evidence)};
    const std::int64_t done = steps_done(evidence), due = good ? steps_done(*good) : done;
    if (done != due) seen.push_back(fmt::format("{} steps were done; in the last good run {}.", done, due));
    if (const auto restarts = evidence.each<results::Restart>(); !restarts.empty())
        seen.push_back(fmt::format("The launcher started all ranks again {}.",
                                   results::counted(restarts.size(), "time")));
    const std::vector<Time> times = step_times(evidence), then = good ? step_times(*good) : times;
    if (!times.empty() && !then.empty()) {
        const Time now = times[times.size() / 2], before = then[then.size() / 2];
        const Time worst = times.back(), worst_before = then.back();
        if (5 * now > 6 * before || 5 * worst > 6 * worst_before)
            seen.push_back(fmt::format("A step took {}, the longest {}; in the last good run {}, the longest {}.",
                                       results::duration_text(now), results::duration_text(worst),
                                       results::duration_text(before), results::duration_text(worst_before)));
    }
    const double loss = last_loss(evidence), loss_then = good ? last_loss(*good) : loss;
    if (loss != HUGE_VAL && loss_then != HUGE_VAL && (loss != loss_then || !std::isfinite(loss)) && done == due)
        seen.push_back(std::isfinite(loss)
                           ? fmt::format("The last loss is {:.6g}; in the last good run it was {:.6g}.", loss, loss_then)
                           : "The last loss is not a number.");
    return seen;
}

// ── The program as its ranks ran it, and both timelines.

results::reports::Clue program_clue(const scenarios::Scenario& scenario) {
    results::reports::Clue clue{"the program, as every rank ran it", {}};
    const auto program = scenario.workload.find("program");
    if (scenario.workload_kind != scenarios::python_workload || program == scenario.workload.end() ||
        program->second.options.empty())
        return clue;
    std::string text = program->second.options.front().text;
    if (!scenario.bug.patch.empty()) {
        const auto patched = scenarios::apply_patch(text, scenario.bug.patch);
        if (!patched) return clue;
        text = *patched;
    }
    int number = 0;
    std::string_view rest = text;
    while (!rest.empty()) {
        const std::size_t end = std::min(rest.find('\n'), rest.size());
        const std::string_view line = rest.substr(0, end);
        ++number;
        // The first line is the catalogue's comment and holds the scenario's name.
        if (!(number == 1 && line.starts_with("# "))) clue.lines.push_back(fmt::format("{:>3}  {}", number, line));
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return clue;
}

namespace {

// A patch that adds the bug, as the one that takes it away.
std::string reversed(std::string_view patch) {
    std::string text;
    while (!patch.empty()) {
        const std::size_t end = std::min(patch.find('\n'), patch.size());
        std::string line(patch.substr(0, end));
        if (line.starts_with("-"))
            line[0] = '+';
        else if (line.starts_with("+"))
            line[0] = '-';
        text += line + "\n";
        patch.remove_prefix(std::min(end + 1, patch.size()));
    }
    return text;
}

std::string run_page(const Lesson& lesson, const Trialled& trial) {
    results::reports::Page page;
    page.add_blind(0, {lesson.number, lesson.job, ""}, lesson.seed, trial.fault->record.evidence);
    return page.html({}, "class", lesson.number);
}

std::string replay_page(const Lesson& lesson, const scenarios::Scenario& scenario, const Trialled& trial) {
    using results::reports::SeenRun;
    results::reports::Page page;
    std::vector<SeenRun> runs;
    const auto see = [&](std::string_view variant, const std::optional<Played>& played,
                         const std::optional<results::Judgement>& judgement) {
        if (played && judgement)
            runs.push_back({variant, &played->record.evidence, &played->record.truth, &played->findings, &*judgement});
    };
    see("fault", trial.fault, trial.outcome.fault);
    see("control", trial.control, trial.outcome.control);
    see("healed", trial.healed, trial.outcome.healed);
    page.add(0, trial.outcome, {lesson.title, scenario.story, scenario.heal.says}, runs);
    return page.html({}, "class", lesson.number);
}

}  // namespace

scenarios::Result<Lesson> make_lesson(const scenarios::Scenario& scenario,
                                      const scenarios::Taxonomy& taxonomy, const Trialled& trial, bool pages) {
    if (!trial.fault || !trial.outcome.fault) {
        return scenarios::refuse(scenarios::ErrorCode::unsupported,
                                 fmt::format("{} cannot be played: {}", scenario.id, trial.outcome.reason),
                                 "choose another lesson; deadrank learn --list has them");
    }
    const scenarios::TaxonomyEntry* symptom = scenarios::find(taxonomy.symptoms, scenario.bug.symptom);
    Lesson lesson;
    lesson.number = case_of(scenario.id);
    lesson.scenario = scenario.id;
    lesson.stage = scenario.bug.stage;
    lesson.title = scenario.teach.title.empty() ? scenario.id : scenario.teach.title;
    lesson.seed = trial.outcome.seed;
    lesson.skill = &skill_for(scenario.bug);
    lesson.minutes = minutes_for(scenario);
    lesson.story = scenario.story;
    const Evidence& evidence = trial.fault->record.evidence;
    const Evidence* good = trial.control ? &trial.control->record.evidence : nullptr;
    lesson.seen = seen_in(evidence, good);
    std::tie(lesson.sees, lesson.reported) = parts_of_story(scenario.teach.sees);
    lesson.symptom = sentence(symptom);
    lesson.job = job_words(trial.fault->plan);
    lesson.watched = watched_words(trial.fault->plan);
    lesson.clues = results::reports::clues(evidence, good);
    if (auto program = program_clue(scenario); !program.lines.empty()) {
        lesson.clues.push_back(std::move(program));
        lesson.patch = reversed(scenario.bug.patch);
    }
    lesson.question = scenario.teach.question.empty() ? "What is wrong here, and how do you know?"
                                                      : scenario.teach.question;
    lesson.hints = scenario.teach.hints;
    const results::Judgement& judgement = *trial.outcome.fault;
    lesson.challenges = challenges_for(scenario, taxonomy, trial);
    lesson.answer = scenario.teach.answer;
    lesson.culprit = results::blame_text(judgement.culprit);
    lesson.noticed = noticed_words(judgement);
    lesson.cause = sentence(scenarios::find(taxonomy.causes, scenario.bug.cause));
    lesson.fix = sentence(scenarios::find(taxonomy.fixes, scenario.bug.fix));
    lesson.why = scenario.teach.why.empty() ? scenario.heal.says : scenario.teach.why;
    lesson.reports = scenario.bug.replays;
    lesson.token = trial.outcome.token;
    compare(lesson, trial);
    if (pages) {
        lesson.run_page = run_page(lesson, trial);
        lesson.replay_page = replay_page(lesson, scenario, trial);
    }
    return lesson;
}

const std::vector<std::string>& primer() {
    static const std::vector<std::string> words = {
        "A training job is many ranks that do the same: each computes on its own data, and several times a "
        "step "
        "all of them meet in a collective (all_reduce and its kin). Nobody leaves before everybody has come.",
        "So a rank that is late, gone or in another call stops all the others, and the healthy ones are those "
        "that look stuck. Do not ask who waits. Ask what each rank did last.",
        "Collectives of a group are numbered; a call fits only with the calls of the same number on the "
        "other "
        "ranks, of the same kind, size and type. One call more, less or in another order on one rank is a "
        "desync: compare the last number of each rank, then what each one called under it.",
        "Ranks that did the same are one row, however many they are. A row of one rank is a question, not an "
        "answer: rank 0 logs and saves alone in a healthy job, and where one rank did what all should have "
        "done, the others are wrong. Decide from what each row did, not from how many did it.",
        "Look at what was printed first, and at the earliest error of all ranks before the loudest. Where "
        "nothing was printed, look at what differs from the last good run."};
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
    return {{"case", lesson.number},
            {"id", lesson.scenario},
            {"seed", lesson.seed},
            {"title", lesson.title},
            {"stage", lesson.stage},
            {"skill", lesson.skill->id},
            {"difficulty", lesson.skill->difficulty},
            {"minutes", lesson.minutes},
            {"job", lesson.job},
            {"watched", lesson.watched},
            {"seen", lesson.seen},
            {"sees", lesson.sees},
            {"reported", lesson.reported},
            {"clues", clues},
            {"question", lesson.question},
            {"challenges", challenges},
            {"hints", lesson.hints},
            {"answer", lesson.answer},
            {"culprit", lesson.culprit},
            {"cause", lesson.cause},
            {"fix", lesson.fix},
            {"why", lesson.why},
            {"patch", lesson.patch},
            {"token", lesson.token}};
}

}  // namespace deadrank::runners::learn
