// tests/mutation_test.cpp — Goal: every detector earns its place. Each plan is played once; a detector taken
// away costs only the settling of what the others said. Faults are muted in checks_test.cpp: one taken away
// would leave nothing to judge.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <iostream>
#include <optional>

#include "results/detectors/detector.h"
#include "scenarios/format/plan_file.h"
#include "tests/support/catalog.h"

namespace deadrank {
namespace {

// One scenario under seed 1, and what each detector said of it by itself.
struct Play {
    const scenarios::Scenario* scenario;
    scenarios::Trial trial;
    runners::Record record;
    std::optional<runners::Record> control;
    std::vector<std::vector<results::Finding>> said;  // in the order of all_detectors()

    results::Verdict verdict_without(std::size_t detector) const {
        std::vector<results::Finding> all;
        for (std::size_t i = 0; i < said.size(); ++i) {
            if (i != detector) all.insert(all.end(), said[i].begin(), said[i].end());
        }
        const results::Evidence* beside = control ? &control->evidence : nullptr;
        return results::judge(trial.fault, record, results::settle(std::move(all)), beside).verdict;
    }
};

class Plays {
public:
    Plays() {
        const results::Detectors detectors = results::all_detectors();
        for (const scenarios::Scenario& scenario : catalog.scenarios) {
            auto trial = scenarios::resolve(scenario, {1}, sim.capabilities(), catalog.vocabulary);
            if (!trial) throw std::runtime_error(scenario.id + ": " + trial.error().text());
            Play play{&scenario, std::move(*trial), {}, {}, {}};
            play.record = std::move(*sim.run(play.trial.fault, {}));
            play.control = std::move(*sim.run(play.trial.control, {}));
            for (const auto& detector : detectors)
                play.said.push_back(detector->examine(play.record.evidence));
            all.push_back(std::move(play));
        }
    }

    tests::ShippedCatalog catalog;
    runners::SimRunner sim;
    std::vector<Play> all;
};

const Plays& plays() {
    static const Plays once;
    return once;
}

constexpr std::size_t nobody = SIZE_MAX;

TEST(SlowMutation, EveryDetectorTakenAwayTurnsAScenarioRed) {
    const results::Detectors detectors = results::all_detectors();
    std::vector<std::string> needless;
    std::cout << "without the detector        red   first of them\n";
    for (std::size_t without = 0; without < detectors.size(); ++without) {
        std::size_t red = 0;
        std::string first;
        for (const Play& play : plays().all) {
            if (play.verdict_without(without) == play.verdict_without(nobody)) continue;
            if (red++ == 0) first = play.scenario->id;
        }
        std::cout << fmt::format("  {:<26} {:>4}   {}\n", detectors[without]->name(), red, first);
        if (red == 0) needless.emplace_back(detectors[without]->name());
    }
    std::cout << "mutation score: " << detectors.size() - needless.size() << " of " << detectors.size()
              << " detectors\n";
    for (const std::string& name : needless) ADD_FAILURE() << "no scenario needs the detector " << name;
}

// Goal: the tests of the testing rest on green scenarios.
TEST(SlowMutation, WithAllDetectorsNothingIsRed) {
    for (const Play& play : plays().all)
        EXPECT_EQ(play.verdict_without(nobody), results::Verdict::pass) << play.scenario->id;
}

}  // namespace
}  // namespace deadrank
