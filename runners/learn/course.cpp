// runners/learn/course.cpp — Draws the questions of each lesson, and puts lessons in order.
#include "runners/learn/course.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "results/record/words.h"

namespace deadrank::runners::learn {

using scenarios::BlameField;

// ── Draws depend on scenario and seed, so that a lesson always asks the same.

namespace {

constexpr std::size_t choices_most = 4;

std::string shown(const scenarios::TaxonomyEntry& cause) {
    return fmt::format("{}: {}", cause.name, cause.definition);
}

// Wrong causes, the most plausible first.
std::vector<std::string> rivals(const scenarios::Bug& bug, const scenarios::Taxonomy& taxonomy) {
    std::vector<std::string> ids;
    const auto add = [&](const std::string& id) {
        if (id != bug.cause && std::count(ids.begin(), ids.end(), id) == 0) ids.push_back(id);
    };
    for (const auto& pair : taxonomy.pairs) {
        if (pair.symptom == bug.symptom) add(pair.cause);
    }
    for (const auto& cause : taxonomy.causes) {
        if (!cause.stages.empty() && cause.stages.front() == bug.stage) add(cause.id);
    }
    for (const auto& cause : taxonomy.causes) add(cause.id);
    return ids;
}

Challenge make_cause_challenge(const scenarios::Scenario& scenario, const scenarios::Taxonomy& taxonomy,
                               std::uint64_t seed) {
    Chance chance(scenario.id, seed);
    std::vector<std::string> near = rivals(scenario.bug, taxonomy);
    near.resize(std::min<std::size_t>(near.size(), 6));
    chance.shuffle(near);
    near.resize(std::min(near.size(), choices_most - 1));
    near.push_back(scenario.bug.cause);
    chance.shuffle(near);
    Challenge challenge;
    challenge.asks = "What is the root cause?";
    for (const std::string& id : near) {
        const scenarios::TaxonomyEntry* cause = scenarios::find(taxonomy.causes, id);
        if (id == scenario.bug.cause) challenge.choice = challenge.choices.size();
        challenge.choices.push_back(cause ? shown(*cause) : id);
    }
    return challenge;
}

Challenge make_number_challenge(std::string asks, std::vector<std::int32_t> numbers, std::int64_t highest) {
    Challenge challenge;
    challenge.asks = std::move(asks);
    challenge.numbers = std::move(numbers);
    challenge.highest = static_cast<std::int32_t>(highest);
    return challenge;
}

bool asks_since_when(std::string_view question) {
    const std::string words = results::lowered(question);
    return words.find("since when") != std::string::npos || words.find("which step") != std::string::npos;
}

}  // namespace

bool asks_for_step(const scenarios::Scenario& scenario) {
    return scenario.expect.asks_for(BlameField::step) || asks_since_when(scenario.teach.question);
}

std::vector<Challenge> challenges_for(const scenarios::Scenario& scenario,
                                      const scenarios::Taxonomy& taxonomy, const Trialled& trial) {
    std::vector<Challenge> challenges;
    const scenarios::Plan& plan = trial.fault->plan;
    const results::Blame& culprit = trial.outcome.fault->culprit;
    const scenarios::Expectation& expect = scenario.expect;
    const auto half = static_cast<std::size_t>(plan.world_size() / 2);
    if (expect.asks_for(BlameField::rank) && !culprit.ranks.empty() && culprit.ranks.size() <= half) {
        challenges.push_back(
            make_number_challenge(culprit.ranks.size() == 1 ? "Which rank is it?" : "Which ranks are they?",
                                  culprit.ranks, plan.world_size() - 1));
    } else if (expect.asks_for(BlameField::node) && !culprit.nodes.empty()) {
        challenges.push_back(
            make_number_challenge(culprit.nodes.size() == 1 ? "Which node is it?" : "Which nodes are they?",
                                  culprit.nodes, scenarios::cluster_number(plan, "nodes", 1) - 1));
    }
    if (asks_for_step(scenario) && culprit.step) {
        challenges.push_back(make_number_challenge("Since which step? Steps count from 0.",
                                                   {static_cast<std::int32_t>(*culprit.step)}, 100'000));
    }
    challenges.push_back(make_cause_challenge(scenario, taxonomy, trial.outcome.seed));
    return challenges;
}

// ── Beginners first get bugs that are plain to see: easy skills before hard ones, each before those that build
// on it.

void in_course_order(std::vector<scenarios::Scenario>& scenarios) {
    const auto place = [](const scenarios::Scenario& scenario) {
        const Skill& skill = skill_for(scenario.bug);
        return std::tuple(&skill - skills().data(), minutes_for(scenario), case_of(scenario.id));
    };
    std::stable_sort(scenarios.begin(), scenarios.end(),
                     [&](const auto& a, const auto& b) { return place(a) < place(b); });
}

std::vector<scenarios::Scenario> ten_lessons(const std::vector<scenarios::Scenario>& scenarios) {
    // First half: a job that stops. Second half: a job that runs, and is wrong.
    static constexpr std::array<std::string_view, 10> ids = {
        "computation/rank_raises_an_attribute_error",
        "communication/rank_leaves_all_reduce",
        "communication/finaliser_runs_on_rank_zero_only",
        "communication/collective_type_differs_on_one_rank",
        "communication/metric_logged_by_the_main_process_alone",
        "scheduling/one_slow_device",
        "memory/device_memory_leaks_on_one_rank",
        "fault_tolerance/optimizer_begins_anew_after_resume",
        "computation/each_rank_averages_over_its_own_tokens",
        "scheduling/same_samples_on_every_rank",
    };
    std::vector<scenarios::Scenario> course;
    for (const std::string_view id : ids) {
        const auto found = std::find_if(scenarios.begin(), scenarios.end(),
                                        [&](const auto& scenario) { return scenario.id == id; });
        if (found != scenarios.end()) course.push_back(*found);
    }
    return course;
}

scenarios::Result<Lesson> lesson_on(const scenarios::Scenario& scenario, std::uint64_t seed,
                                    const Classroom& room, bool pages) {
    PipelineOptions options;
    options.stop = room.stop;
    options.detectors = &room.detectors;
    const Trialled trial = play(scenario, scenarios::Seed{seed}, room.runner, room.vocabulary, options);
    return make_lesson(scenario, room.taxonomy, trial, pages);
}

std::vector<Drawn> draw_quiz(const std::vector<scenarios::Scenario>& scenarios, std::size_t count,
                             std::uint64_t seed) {
    Chance chance("quiz", seed);
    std::vector<const scenarios::Scenario*> all;
    for (const auto& scenario : scenarios) all.push_back(&scenario);
    chance.shuffle(all);
    std::vector<Drawn> drawn;
    for (const auto* scenario : all) {
        if (drawn.size() < count) drawn.push_back({scenario, 1 + chance.next() % 100'000});
    }
    return drawn;
}

}  // namespace deadrank::runners::learn
