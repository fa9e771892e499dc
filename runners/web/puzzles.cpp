// runners/web/puzzles.cpp — From a scenario to a puzzle: its run is played, and evidence alone becomes looks.
#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <thread>

#include "results/record/evidence.h"
#include "results/reports/clues.h"
#include "results/reports/run_view.h"
#include "runners/learn/course.h"
#include "runners/learn/lesson.h"
#include "runners/pipeline/run_files.h"
#include "runners/web/classroom.h"
#include "runners/web/http_answers.h"
#include "scenarios/format/plan_file.h"
#include "scenarios/format/scenario_file.h"
#include "scenarios/model/document.h"
#include "scenarios/model/python_program.h"
#include "scenarios/model/text.h"

namespace deadrank::runners::web {

namespace fs = std::filesystem;
using scenarios::ErrorCode;
using scenarios::refuse;
using scenarios::Result;

namespace {

constexpr std::size_t fixes_most = 4;
constexpr std::size_t with_settings_most = 3;  // with the bug's own, so many can be played
constexpr std::size_t culprits_most = 4;  // more are no answer to "which rank?"
constexpr int clue_costs = 5, timeline_costs = 15, waits_costs = 15;

Result<std::shared_ptr<const Jobs::Result>> await_result(Jobs& jobs, int number,
                                                         const std::atomic<bool>& stop) {
    for (;;) {
        const auto view = jobs.find(number);
        if (!view || stop.load()) return refuse(ErrorCode::internal, "stopped");
        if (view->state == JobState::done) return jobs.result(number);
        if (!view->trouble.empty()) return refuse(ErrorCode::environment, view->trouble);
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
}

// Findings and truth are left out, so the picture groups ranks by what they did and by nothing else.
std::vector<Look> looks_of(const results::Evidence& evidence, const results::Evidence& control) {
    std::vector<Look> looks;
    for (const auto& clue : results::reports::clues(evidence, &control)) {
        if (!clue.lines.empty()) looks.push_back({clue.title, clue_costs, results::reports::dumped(Json{{"lines", clue.lines}})});
    }
    Json picture = results::reports::run_view({.variant = "fault", .evidence = &evidence});
    for (const char* other_look : {"waits", "logs"}) picture.erase(other_look);
    looks.push_back({"The timeline of all ranks", timeline_costs, results::reports::dumped(Json{{"run", std::move(picture)}})});
    looks.push_back({"Who waits for whom at the end", waits_costs,
                     results::reports::dumped(Json{{"waits", results::reports::waits_at(evidence, evidence.observed_until())}})});
    return looks;
}

// What the truth blames.
results::Blame culprit_of(const fs::path& run) {
    const Json verdict =
        Json::parse(scenarios::read_text(run / "verdict.json").value_or("{}"), nullptr, false);
    const Json fault = verdict.is_object() ? verdict.value("fault", Json::object()) : Json::object();
    if (!fault.is_object() || !fault.contains("culprit")) return {};
    return results::blame_from(fault["culprit"]);
}

// The ranks of it, if they are asked for and few.
std::vector<results::Rank> culprits_of(const results::Blame& blame, const scenarios::Scenario& scenario) {
    const bool asked = scenario.expect.asks_for(scenarios::BlameField::rank);
    return asked && blame.ranks.size() <= culprits_most ? blame.ranks : std::vector<results::Rank>{};
}

// The settings that another bug's fix changes, if this job has them too. What else such a fix does, such as
// taking out a fault or mending a line of a program, has nothing to act on in this job.
std::vector<std::pair<std::string, std::string>> settings_of(const scenarios::Scenario& other,
                                                             const scenarios::Scenario& scenario) {
    std::vector<std::pair<std::string, std::string>> settings;
    const auto add = [&](const scenarios::Settings& changes, const std::string& table) {
        for (const auto& [name, setting] : changes)
            if (setting.options.size() == 1 && setting.options.front().type != scenarios::ValueType::table)
                settings.emplace_back(table + "." + name, scenarios::toml_literal(setting.options.front()));
    };
    add(other.heal.cluster, "cluster");
    const bool same = other.workload_kind == scenario.workload_kind;
    if (same && scenario.workload_kind != scenarios::python_workload) add(other.heal.workload, "workload");
    return settings;
}

// Its own fix among those of other scenarios: of the same stage first, and first some that change settings of
// this job, so that trying them changes its run. In the order of their texts.
void choose_fixes(Puzzle& puzzle, const scenarios::Scenario& scenario,
                  const std::vector<scenarios::Scenario>& all) {
    std::vector<Fix> fixes = {{scenario.heal.says, {}}};
    const auto own = settings_of(scenario, scenario);
    // A fix that changes all that the right one changes would be right too.
    const auto repairs = [&own](const std::vector<std::pair<std::string, std::string>>& settings) {
        return !own.empty() && std::all_of(own.begin(), own.end(), [&](const auto& one) {
            return std::find(settings.begin(), settings.end(), one) != settings.end();
        });
    };
    const auto says = [](const std::string& words) {
        return [&words](const Fix& fix) { return fix.says == words; };
    };
    const auto add_one = [&](const scenarios::Scenario& other, std::size_t most, bool plays) {
        const bool other_fix = other.bug.cause != scenario.bug.cause && !other.heal.says.empty();
        const bool is_new = std::none_of(fixes.begin(), fixes.end(), says(other.heal.says));
        auto settings = settings_of(other, scenario);
        if (fixes.size() < most && other_fix && is_new && (!plays || !settings.empty()) && !repairs(settings))
            fixes.push_back({other.heal.says, std::move(settings)});
    };
    const auto add = [&](std::size_t most, bool near, bool plays) {
        for (std::size_t i = 0; i < all.size(); ++i) {
            const auto& other = all[(i * 7 + scenario.id.size()) % all.size()];
            if ((other.bug.stage == scenario.bug.stage) == near) add_one(other, most, plays);
        }
    };
    add(with_settings_most, true, true);
    add(fixes_most, true, false);
    add(fixes_most, false, false);
    std::sort(fixes.begin(), fixes.end(), [](const Fix& a, const Fix& b) { return a.says < b.says; });
    puzzle.right_fix = static_cast<std::size_t>(
        std::find_if(fixes.begin(), fixes.end(), says(scenario.heal.says)) - fixes.begin());
    puzzle.fixes = std::move(fixes);
}

Result<Puzzle> puzzle_of(const Library& library, const scenarios::Scenario& scenario, std::uint64_t seed,
                         const fs::path& runs) {
    const RunDirectory directory(runs, scenario.id, seed);
    const fs::path fault = directory.of(scenarios::Variant::fault);
    auto evidence = results::read_evidence(fault / "evidence.jsonl");
    if (!evidence) return tl::unexpected(evidence.error());
    auto control = results::read_evidence(directory.of(scenarios::Variant::control) / "evidence.jsonl");
    if (!control) return tl::unexpected(control.error());
    const auto plan = scenarios::load_plan(fault / "plan.toml", library.taxonomy, library.vocabulary);
    if (!plan) return tl::unexpected(plan.error());
    const results::Blame culprit = culprit_of(fault);
    auto [sees, reported] = learn::parts_of_story(scenario.teach.sees);
    Puzzle puzzle{.scenario = scenario.id,
                  .symptom_seen = std::move(sees),
                  .question = scenario.teach.question,
                  .watched = learn::watched_words(*plan),
                  .reported = std::move(reported),
                  .seen = learn::seen_in(*evidence, &*control),
                  .program = learn::program_clue(scenario).lines,
                  .seed = seed,
                  .hints = scenario.teach.hints,
                  .looks = looks_of(*evidence, *control),
                  .culprits = culprits_of(culprit, scenario),
                  .step = learn::asks_for_step(scenario) ? culprit.step : std::nullopt,
                  .cause = scenario.bug.cause,
                  .answer = scenario.teach.answer,
                  .why = scenario.teach.why};
    puzzle.ranks = evidence->world_size();
    return puzzle;
}

}  // namespace

Result<std::vector<std::string>> class_ids(const std::string& words) {
    std::vector<std::string> ids;
    std::error_code ignored;
    const bool is_file = fs::is_regular_file(words, ignored);
    const auto text = is_file ? scenarios::read_text(words) : Result<std::string>(words);
    if (!text) return tl::unexpected(text.error());
    for (std::string_view line : scenarios::parts_of(*text, is_file ? '\n' : ',')) {
        line = scenarios::trimmed(line.substr(0, line.find('#')));
        if (!line.empty()) ids.emplace_back(line);
    }
    if (!ids.empty()) return ids;
    return refuse(ErrorCode::usage, fmt::format("'{}' names no scenario", words),
                  "write ids between commas, or a file with one a line");
}

Result<std::vector<Puzzle>> make_puzzles(const Library& library, const std::vector<std::string>& ids,
                                         std::uint64_t seed, const OrderOptions& options, Jobs& jobs,
                                         const std::atomic<bool>& stop) {
    const auto catalog = scenarios::load_catalog(library.catalog, library.taxonomy, library.vocabulary);
    if (!catalog) return tl::unexpected(catalog.error());
    std::vector<const scenarios::Scenario*> chosen;
    std::vector<int> numbers;
    for (const std::string& id : ids) {
        const auto found = std::find_if(catalog->scenarios.begin(), catalog->scenarios.end(),
                                        [&](const auto& one) { return one.id == id; });
        if (found == catalog->scenarios.end()) {
            return refuse(ErrorCode::usage, fmt::format("the catalogue has no scenario '{}'", id),
                          "deadrank list prints their ids");
        }
        auto order = make_order(library, {.id = id, .seed = seed}, {.kind = JobKind::run}, options);
        if (!order) return tl::unexpected(order.error());
        const auto number = jobs.add(std::move(*order));
        if (!number) return tl::unexpected(number.error());
        chosen.push_back(&*found);
        numbers.push_back(*number);
    }
    std::vector<Puzzle> puzzles;
    for (std::size_t i = 0; i < chosen.size(); ++i) {
        const auto result = await_result(jobs, numbers[i], stop);
        if (!result) return tl::unexpected(result.error());
        auto puzzle = puzzle_of(library, *chosen[i], seed, (*result)->place.path() / kept_runs);
        if (!puzzle) return tl::unexpected(puzzle.error());
        choose_fixes(*puzzle, *chosen[i], catalog->scenarios);
        puzzles.push_back(std::move(*puzzle));
    }
    return puzzles;
}

}  // namespace deadrank::runners::web
