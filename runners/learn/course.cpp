// runners/learn/course.cpp — A beginner first meets bugs that show themselves.
#include "runners/learn/course.h"

#include <algorithm>
#include <array>

#include "runners/learn/chance.h"

namespace deadrank::runners::learn {

namespace {

// 0: somebody waits or an error is printed; 1: it is slow; 2: everything runs, and the numbers are wrong.
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
    LineOptions options;
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
