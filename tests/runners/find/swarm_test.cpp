// tests/runners/find/swarm_test.cpp — Goal: a swarm depends on its seeds alone, finds a detector that lies,
// keeps the smallest witness of each kind of finding, and looks where nobody has looked.
#include "runners/find/swarm.h"

#include <array>
#include <gtest/gtest.h>

#include "runners/find/finds.h"
#include "runners/find/shrink.h"
#include "scenarios/format/plan_file.h"
#include "tests/runners/find/planted.h"

namespace deadrank::runners::find {
namespace {

SwarmOptions swarm_options(std::size_t seeds, int threads, const results::Detectors* detectors = nullptr) {
    SwarmOptions options;
    options.words.words = &testing::words();
    options.words.ranks_most = 8;
    options.seeds = seeds;
    options.properties = *properties_named({});
    options.detectors = detectors;
    options.workers.make_runner = [] { return std::make_unique<SimRunner>(); };
    options.workers.threads = threads;
    return options;
}

std::string told(const Swarm& swarm) {
    std::string text;
    for (const Group& group : swarm.groups) {
        text += group.name() + " " + std::to_string(group.seen) + " " + std::to_string(group.first_seed) +
                "\n" + scenarios::to_toml(group.witness);
    }
    for (const auto& [cell, count] : swarm.coverage.cells())
        text += cell.kind + cell.phase + cell.role + std::to_string(count.drawn) + "\n";
    return text;
}

// Says "straggler" about rank 0 whenever a rank dies: wrong but for one rank.
class Liar final : public results::Detector {
public:
    std::string_view name() const override { return "liar"; }
    std::vector<std::string_view> symptoms() const override { return {"straggler_step_time_skew"}; }
    std::vector<results::Finding> examine(const results::Evidence& evidence) const override {
        for (const results::Event* event : evidence.each<results::RankExit>()) {
            if (event->as<results::RankExit>()->signal != 9) continue;
            return {{.symptom = "straggler_step_time_skew",
                     .detector = "liar",
                     .blame = {.ranks = {0}},
                     .at = event->at,
                     .says = "it must have been rank 0"}};
        }
        return {};
    }
};

TEST(Swarm, DependsOnItsSeedsAlone) {
    const Swarm alone = swarm(swarm_options(40, 1));
    const Swarm together = swarm(swarm_options(40, 3));
    EXPECT_EQ(told(alone), told(together));
    EXPECT_GT(alone.coverage.reached(), 10u);
}

TEST(Swarm, FindsADetectorThatLiesAndKeepsASmallWitness) {
    results::Detectors liars;
    liars.push_back(std::make_unique<Liar>());
    SwarmOptions options = swarm_options(40, 1, &liars);
    options.words.kinds = {"kill_rank", "slow_rank"};
    options.properties = *properties_named({"culprit_is_named"});
    const Swarm found = swarm(options);
    ASSERT_EQ(found.groups.size(), 1u) << told(found);
    const Group& group = found.groups.front();
    EXPECT_EQ(group.name(), "culprit_is_named: straggler_step_time_skew by liar (kill_rank)");
    EXPECT_GT(group.seen, 5u);
    EXPECT_EQ(group.witness.faults.size(), 1u);
    SimRunner runner;
    PlanTrials trials(runner, &liars, nullptr);
    EXPECT_TRUE(fails_alike(trials, group.signature)(group.witness)) << "the witness must fail by itself";
}

TEST(Swarm, NoticesTheHarmThatNobodyReports) {
    const results::Detectors none;
    SwarmOptions options = swarm_options(16, 1, &none);
    options.words.kinds = {"stop_rank"};
    options.properties = *properties_named({"harm_is_noticed"});
    const Swarm found = swarm(options);
    ASSERT_FALSE(found.groups.empty());
    for (const Group& group : found.groups) EXPECT_EQ(group.kinds, std::vector<std::string>{"stop_rank"});
}

// Replicas that are killed at drawn moments, once or several times.
SwarmOptions killed_replicas(std::size_t seeds) {
    SwarmOptions options = swarm_options(seeds, 1);
    options.words.workloads = {"elastic"};
    options.words.kinds = {"kill_rank", "exit_rank"};
    options.words.faults_most = 3;
    options.properties =
        *properties_named({"steps_count_for_all", "members_hold_the_same", "samples_count_once",
                           "ends_as_undisturbed", "goes_on_in_time", "no_restart_without_fault"});
    return options;
}

TEST(SwarmOfReplicas, KeepsEveryPromise) {
    const Swarm found = swarm(killed_replicas(200));
    EXPECT_TRUE(found.clean()) << told(found);
    EXPECT_EQ(found.played, 200u) << found.trouble;
    EXPECT_LT(found.no_job + found.without_effect, 40u) << "most draws kill somebody";
}

// Goal: a protocol that leaves a part out is found by kills that it knows nothing of, and the find shrinks.
TEST(SwarmOfReplicas, FindsAProtocolThatLeavesAPartOut) {
    const std::pair<const char*, const char*> planted[] = {
        {"commit", "alone"}, {"heal_from", "first"}, {"heal_state", "parameters"}};
    for (const auto& [name, word] : planted) {
        SwarmOptions options = killed_replicas(60);
        options.words.settings[name] = {.type = scenarios::ValueType::choice, .text = word};
        const Swarm found = swarm(options);
        ASSERT_FALSE(found.clean()) << name;
        const Group& group = found.groups.front();
        SimRunner runner;
        PlanTrials trials(runner, nullptr, nullptr);
        const auto shrunk = shrink(group.witness, fails_alike(trials, group.signature), testing::words(), {});
        EXPECT_EQ(shrunk.plan.faults.size(), 1u) << name;
        EXPECT_EQ(shrunk.plan.world_size(), 2) << name << ": " << scenarios::to_toml(shrunk.plan);
        EXPECT_EQ(shrunk.plan.workload.at(name).text, word) << "without it nothing breaks";
    }
}

// Goal: cells that were drawn seldom come next; a cell out of reach is nearly left alone.
TEST(Coverage, DrawsWhatWasSeldomDrawn) {
    Coverage coverage;
    const std::vector<CoverageCell> cells = {
        {"a", "data", "first"}, {"b", "data", "first"}, {"c", "data", "first"}};
    for (int i = 0; i < 100; ++i) coverage.note(cells[0], true);
    for (int i = 0; i < 4; ++i) coverage.note(cells[1], false);
    std::array<int, 3> drawn{};
    for (std::uint64_t n = 0; n < 1000; ++n)
        ++drawn[coverage.pick(cells, scenarios::Draw(n, "test", "cell"), 0)];
    EXPECT_GT(drawn[2], 950);
    EXPECT_GT(drawn[0], drawn[1]);
}

TEST(Coverage, KnowsTheRolesOfRanks) {
    EXPECT_EQ(role_of(0, 8, 4), "first");
    EXPECT_EQ(role_of(4, 8, 4), "leader");
    EXPECT_EQ(role_of(7, 8, 4), "last");
    EXPECT_EQ(role_of(5, 8, 4), "other");
}

}  // namespace
}  // namespace deadrank::runners::find
