// runners/learn/course.cpp — Draws the questions of each lesson, and puts lessons in order.
#include "runners/learn/course.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <fmt/format.h>
#include <set>

#include "results/record/words.h"

namespace deadrank::runners::learn {

// Draws depend on scenario and seed, so that a lesson always asks the same.

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

Challenge ask_why(const scenarios::Scenario& scenario, const scenarios::Taxonomy& taxonomy,
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

std::vector<std::int32_t> numbers_in(std::string_view text) {
    std::set<std::int32_t> numbers;
    std::int32_t number = -1, first = -1;
    const auto close = [&] {
        if (number >= 0 && number - std::max(first, 0) < 100'000) {
            for (std::int32_t i = first >= 0 ? first : number; i <= number; ++i) numbers.insert(i);
        }
        number = first = -1;
    };
    for (const char letter : text) {
        if (std::isdigit(static_cast<unsigned char>(letter)) && number < 10'000'000) {
            number = std::max(number, 0) * 10 + (letter - '0');
        } else if (letter == '-' && number >= 0) {
            first = number;
            number = -1;
        } else {
            close();
        }
    }
    close();
    return {numbers.begin(), numbers.end()};
}

}  // namespace

bool Challenge::accepts(std::string_view answer) const {
    if (choices.empty()) return !numbers.empty() && numbers_in(answer) == numbers;
    while (!answer.empty() && answer.front() == ' ') answer.remove_prefix(1);
    while (!answer.empty() && answer.back() == ' ') answer.remove_suffix(1);
    return answer.size() == 1 &&
           std::tolower(static_cast<unsigned char>(answer.front())) == static_cast<int>('a' + choice);
}

std::string Challenge::solution() const {
    if (choices.empty()) return results::ranges_text(numbers);
    return fmt::format("{}: {}", static_cast<char>('a' + choice), choices[choice]);
}

std::vector<Challenge> challenges_for(const scenarios::Scenario& scenario,
                                      const scenarios::Taxonomy& taxonomy, const Trialled& trial) {
    std::vector<Challenge> challenges;
    const results::Blame& culprit = trial.outcome.fault->culprit;
    const auto& blames = scenario.expect.blames;
    const auto asked = [&](const char* field) { return std::count(blames.begin(), blames.end(), field) > 0; };
    const auto half = static_cast<std::size_t>(trial.fault->plan.world_size() / 2);
    if (asked("rank") && !culprit.ranks.empty() && culprit.ranks.size() <= half) {
        challenges.push_back({culprit.ranks.size() == 1 ? "Which rank is it?" : "Which ranks are they?",
                              {},
                              culprit.ranks,
                              0});
    } else if (asked("node") && !culprit.nodes.empty()) {
        challenges.push_back({culprit.nodes.size() == 1 ? "Which node is it?" : "Which nodes are they?",
                              {},
                              culprit.nodes,
                              0});
    }
    challenges.push_back(ask_why(scenario, taxonomy, trial.outcome.seed));
    return challenges;
}

// Beginners first get bugs that are plain to see.

namespace {

// 0: a rank waits or an error is printed; 1: the job is slow; 2: everything runs, and the numbers are wrong.
int depth_of(const scenarios::Scenario& scenario) {
    static constexpr std::array<std::string_view, 5> silent = {"wrong", "mismatch", "divergence", "anomaly",
                                                               "coverage"};
    static constexpr std::array<std::string_view, 3> slow = {"straggler", "throughput", "degraded"};
    const std::string& symptom = scenario.bug.symptom;
    const auto has = [&](std::string_view word) { return symptom.find(word) != std::string::npos; };
    if (has("collective")) return 0;
    if (std::any_of(slow.begin(), slow.end(), has)) return 1;
    return std::any_of(silent.begin(), silent.end(), has) ? 2 : 0;
}

}  // namespace

void in_course_order(std::vector<scenarios::Scenario>& scenarios, const scenarios::Taxonomy& taxonomy) {
    const auto place = [&](const scenarios::Scenario& scenario) {
        const auto stages = scenarios::ids(taxonomy.stages);
        const auto stage = std::find(stages.begin(), stages.end(), scenario.bug.stage) - stages.begin();
        return std::tuple(stage, depth_of(scenario), std::string_view(scenario.id));
    };
    std::stable_sort(scenarios.begin(), scenarios.end(),
                     [&](const auto& a, const auto& b) { return place(a) < place(b); });
}

scenarios::Result<Lesson> lesson_on(const scenarios::Scenario& scenario, std::uint64_t seed,
                                    const Classroom& room) {
    PipelineOptions options;
    options.stop = room.stop;
    options.detectors = &room.detectors;
    const Trialled trial = play(scenario, scenarios::Seed{seed}, room.runner, room.vocabulary, options);
    return make_lesson(scenario, room.taxonomy, trial);
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
