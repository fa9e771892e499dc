// tests/catalog_test.cpp — Every shipped scenario in the simulator: caught with its fault, quiet without it,
// quiet when healed. The test finds the files itself, so a new TOML needs no C++.
#include "tests/support/catalog.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <set>

#include "results/record/words.h"
#include "scenarios/format/plan_file.h"

namespace deadrank {
namespace {

void expect_all_pass(std::uint64_t first_seed, std::uint64_t last_seed) {
    const tests::ShippedCatalog catalog;
    runners::SimRunner sim;
    for (const scenarios::Scenario& scenario : catalog.scenarios) {
        for (std::uint64_t seed = first_seed; seed <= last_seed; ++seed) {
            const auto trialled = runners::play(scenario, {seed}, sim, catalog.vocabulary);
            EXPECT_EQ(trialled.outcome.verdict, results::Verdict::pass)
                << scenario.id << ": " << trialled.outcome.reason << "\nsee it again: deadrank run "
                << scenario.id << " --seed " << seed;
        }
    }
}

// Goal: what the catalog promises holds today, for the seed that everybody tries first.
TEST(Catalog, PassesInTheSimulatorWithItsControlsAndHealedRuns) { expect_all_pass(1, 1); }

// Goal: no promise hangs on one lucky draw of ranks, steps and shapes.
TEST(SlowCatalog, PassesUnderTwentySeeds) { expect_all_pass(1, 20); }

// Goal: the bugs that are code are found in what the code does, their fixed programs ring no alarm, and no
// promise hangs on one seed: every third scenario is played with two more, since each takes a second.
TEST(DeviceRealCode, IsCaughtAndItsFixedProgramIsQuiet) {
    const tests::ShippedCatalog catalog;
    runners::SimRunner sim;
    std::string skipped;
    std::size_t played = 0;
    for (const scenarios::Scenario& scenario : catalog.real) {
        const std::uint64_t last_seed = played++ % 3 == 0 ? 3 : 1;
        for (std::uint64_t seed = 1; seed <= last_seed; ++seed) {
            const auto trialled = runners::play(scenario, {seed}, sim, catalog.vocabulary);
            if (!trialled.outcome.skipped.empty()) {
                skipped = trialled.outcome.skipped;
                break;
            }
            EXPECT_EQ(trialled.outcome.verdict, results::Verdict::pass)
                << scenario.id << ": " << trialled.outcome.reason << "\nsee it again: deadrank run "
                << scenario.id << " --seed " << seed;
        }
    }
    if (!skipped.empty()) GTEST_SKIP() << skipped;
}

// Goal: a plan of a real program is one run, and carries the program.
TEST(DeviceRealCode, PlaysOnePlanInOneWay) {
    const tests::ShippedCatalog catalog;
    runners::SimRunner sim;
    const auto& scenario = catalog.named("fault_tolerance/template_of_the_load_lacks_momentum");
    if (const std::string missing = sim.find_missing(scenario); !missing.empty()) GTEST_SKIP() << missing;
    const auto trial = scenarios::resolve(scenario, {1}, sim.capabilities(), catalog.vocabulary);
    ASSERT_TRUE(trial) << trial.error().text();
    const auto once = sim.run(trial->fault, {}), again = sim.run(trial->fault, {});
    ASSERT_TRUE(once && again);
    EXPECT_EQ(once->trace_hash, again->trace_hash);
    EXPECT_NE(once->trace_hash, sim.run(trial->control, {})->trace_hash);
}

results::Evidence evidence_of_the_bug(const std::string& id) {
    const tests::ShippedCatalog catalog;
    runners::SimRunner sim;
    const auto trial = scenarios::resolve(catalog.named(id), {1}, sim.capabilities(), catalog.vocabulary);
    auto record = sim.run(trial.value().fault, {});
    return std::move(record.value().evidence);
}

bool can_play_real_code() {
    const tests::ShippedCatalog catalog;
    return runners::SimRunner().find_missing(catalog.real.front()).empty();
}

// Goal: a traceback of a patched program shows the lines that ran, not those of the fixed program beside it.
TEST(DeviceRealCode, ShowsLinesOfThePatchedProgramInItsTraceback) {
    if (!can_play_real_code()) GTEST_SKIP() << "no Python with torch";
    const results::Evidence evidence = evidence_of_the_bug("computation/second_all_to_all_takes_uneven_path");
    const auto logs = evidence.each<results::RankLog>();
    EXPECT_TRUE(std::any_of(logs.begin(), logs.end(), [&](const results::Event* event) {
        return evidence.text(event->as<results::RankLog>()->line).find("rows, uneven, uneven)") !=
               std::string_view::npos;
    }));
}

// Goal: where DistributedDataParallel reduces one micro-batch of a step and not the last, its replicas are
// compared: such a step is no training apart, as local SGD is.
TEST(DeviceRealCode, ComparesReplicasThatReduceOnlyAPartOfAStep) {
    if (!can_play_real_code()) GTEST_SKIP() << "no Python with torch";
    const results::Evidence evidence = evidence_of_the_bug("computation/gradient_cleared_between_microbatches");
    std::set<std::uint64_t> digests;
    for (const results::Event* event : evidence.each<results::ParametersDigest>())
        if (const auto* digest = event->as<results::ParametersDigest>(); digest->step == 0)
            digests.insert(digest->digest);
    EXPECT_GE(digests.size(), 2u);
}

// Goal: a scenario is more than its fault: it tells where it happened, and teaches.
TEST(Catalog, TellsOfEveryBugWhereItHappenedAndWhatItTeaches) {
    for (const scenarios::Scenario& scenario : tests::ShippedCatalog().all()) {
        EXPECT_FALSE(scenario.bug.replays.empty()) << scenario.id << " cites no public report";
        EXPECT_GT(scenario.story.size(), 80u) << scenario.id << " opens without its story";
        EXPECT_FALSE(scenario.teach.title.empty() || scenario.teach.sees.empty() ||
                     scenario.teach.question.empty() || scenario.teach.answer.empty() ||
                     scenario.teach.why.empty())
            << scenario.id << " has a gap in [teach]";
        EXPECT_EQ(scenario.teach.hints.size(), 2u) << scenario.id;
        EXPECT_FALSE(scenario.faults.empty()) << scenario.id << " injects nothing";
    }
}

// Goal: where a fix replaces a node, nothing less would do: with the same restarts and without a spare the
// defect is met again.
TEST(Catalog, FixesThatReplaceANodeNeedTheSpare) {
    const tests::ShippedCatalog catalog;
    runners::SimRunner sim;
    std::size_t replaced = 0;
    for (scenarios::Scenario scenario : catalog.scenarios) {
        if (!scenario.heal.cluster.contains("spare_nodes")) continue;
        ++replaced;
        scenario.heal.cluster.erase("spare_nodes");
        scenario.heal.cluster.erase("health_check");
        const auto trialled = runners::play(scenario, {1}, sim, catalog.vocabulary);
        ASSERT_TRUE(trialled.outcome.healed) << scenario.id << ": " << trialled.outcome.reason;
        EXPECT_NE(trialled.outcome.healed->verdict, results::Verdict::pass)
            << scenario.id << " is healed by a restart alone";
    }
    EXPECT_GE(replaced, 11u);
}

}  // namespace
}  // namespace deadrank
