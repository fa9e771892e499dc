// tests/scenarios/resolve_test.cpp — Goal: a seed closes everything a scenario leaves open, always alike, and
// no draw moves another.
#include <gtest/gtest.h>
#include <set>

#include "scenarios/format/plan_file.h"
#include "tests/scenarios/sample.h"

namespace deadrank::tests {
namespace {

using scenarios::FaultSpec;
using scenarios::Plan;
using scenarios::Trial;
using scenarios::Variant;

Trial resolved(const SampleFile& file, std::uint64_t seed = 1) {
    auto trial = resolve_sample(file, seed);
    EXPECT_TRUE(trial) << trial.error().text();
    return trial.value_or(Trial{});
}

std::vector<std::int64_t> ranks_of(const SampleFile& file, std::uint64_t seed, std::size_t fault = 0) {
    return resolved(file, seed).fault.faults.at(fault).ranks();
}

TEST(Resolve, FillsInEveryDefault) {
    const Plan plan = resolved({}).fault;
    for (const auto& parameter : scenarios::cluster_parameters()) {
        EXPECT_EQ(plan.cluster.count(parameter.name), parameter.optional ? 0u : 1u) << parameter.name;
    }
    EXPECT_EQ(plan.number(plan.cluster, "link.latency"), 5'000);
    EXPECT_EQ(plan.number(plan.workload, "steps"), 10);
    EXPECT_EQ(plan.number(plan.workload, "step_time"), 100'000'000);
    EXPECT_EQ(plan.faults.at(0).number("signal"), 9);
    EXPECT_EQ(plan.world_size(), 8);
    EXPECT_EQ(plan.scenario, "communication/sample");
}

TEST(Resolve, MakesTheControlWithoutFaultsAndTheHealedRunWithTheFix) {
    SampleFile file;
    file.cluster = "watchdog = false\nenvironment = { A = \"1\", B = \"1\" }\n";
    file.heal =
        "fault = \"keep\"\n[heal.cluster]\nwatchdog = true\nenvironment = { B = \"2\", C = \"3\" "
        "}\n[heal.workload]\nvalidate = true\n";
    const Trial trial = resolved(file);
    EXPECT_EQ(trial.fault.variant, Variant::fault);
    EXPECT_EQ(trial.control.variant, Variant::control);
    EXPECT_EQ(trial.healed.variant, Variant::healed);
    EXPECT_TRUE(trial.control.faults.empty());
    EXPECT_EQ(trial.control.cluster, trial.fault.cluster);
    EXPECT_EQ(trial.healed.faults, trial.fault.faults);
    EXPECT_EQ(trial.healed.cluster.at("watchdog").number, 1);
    EXPECT_EQ(trial.healed.workload.at("validate").number, 1);
    const std::map<std::string, std::string> laid_over = {{"A", "1"}, {"B", "2"}, {"C", "3"}};
    EXPECT_EQ(trial.healed.cluster.at("environment").table, laid_over);
    file.heal = "fault = \"none\"\n";
    EXPECT_TRUE(resolved(file).healed.faults.empty());
}

// Goal: the fix keeps, drops or changes each fault by itself, moves no draw of the others, and has an
// expectation of its own.
TEST(Resolve, HealsEachFaultByItself) {
    SampleFile file;
    file.more_faults = "[[fault]]\nkind = \"slow_link\"\nnode = \"any\"\nfactor = \"2x..9x\"\n";
    file.heal = "fault = [\"none\", \"keep\"]\n";
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
        const Trial trial = resolved(file, seed);
        ASSERT_EQ(trial.healed.faults.size(), 1u);
        EXPECT_EQ(trial.healed.faults[0], trial.fault.faults[1]);
        EXPECT_TRUE(trial.healed.expect.silent());
    }
    file.heal =
        "[[heal.change]]\nfault = 2\nfactor = \"2x\"\nwhen = { lasts = \"3s\" }\n"
        "[heal.expect]\nsymptom = \"collective_deadlock_hang\"\nreaction = \"clear_error\"\nwithin = "
        "\"9s\"\n";
    const Trial trial = resolved(file, 3);
    ASSERT_EQ(trial.healed.faults.size(), 1u);
    EXPECT_EQ(trial.healed.faults[0].number("factor"), 2000);
    EXPECT_EQ(trial.healed.faults[0].when.lasts, 3'000'000'000);
    EXPECT_EQ(trial.healed.faults[0].parameters.at("node"), trial.fault.faults[1].parameters.at("node"));
    EXPECT_EQ(trial.healed.expect.reaction, scenarios::WantedReaction::clear_error);
    EXPECT_EQ(trial.fault.expect.reaction, scenarios::WantedReaction::any);
}

// Goal: "all" is all that there are in each run, also where the fix changes how many that is.
TEST(Resolve, AimsAtAllThereAreInEachRun) {
    SampleFile file;
    file.fault = "kind = \"kill_rank\"\nrank = \"all\"\nwhen = { step = 3, before = \"all_reduce\" }\n";
    for (const std::int64_t ranks : {2, 8}) {
        file.heal = "fault = \"keep\"\n[heal.cluster]\nranks = " + std::to_string(ranks) + "\n";
        const Trial trial = resolved(file);
        EXPECT_EQ(trial.fault.faults.at(0).ranks().size(), 8u);
        EXPECT_EQ(std::ssize(trial.healed.faults.at(0).ranks()), ranks);
    }
    file.fault = "kind = \"kill_rank\"\nrank = 7\nwhen = { step = 3, before = \"all_reduce\" }\n";
    file.heal = "fault = \"keep\"\n[heal.cluster]\nranks = 2\n";
    EXPECT_NE(refusal_of_resolving(file).find("rank 7 is outside the cluster"), std::string::npos);
}

TEST(Resolve, DrawsWithinWhatIsStatedAndReachesAllOfIt) {
    SampleFile file;
    file.cluster = "nodes = [1, 2, 4]\n";
    file.fault =
        "kind = \"kill_rank\"\nrank = \"any but 0\"\nwhen = { step = \"3..5\", before = [\"send\", \"recv\"] "
        "}\n";
    std::set<std::int64_t> nodes, steps;
    std::set<std::string> calls;
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        const Plan plan = resolved(file, seed).fault;
        const FaultSpec& fault = plan.faults.at(0);
        nodes.insert(plan.number(plan.cluster, "nodes"));
        steps.insert(fault.when.step);
        calls.insert(fault.when.before);
        ASSERT_EQ(fault.ranks().size(), 1u);
        EXPECT_GT(fault.ranks()[0], 0);
        EXPECT_LT(fault.ranks()[0], plan.world_size());
    }
    EXPECT_EQ(nodes, (std::set<std::int64_t>{1, 2, 4}));
    EXPECT_EQ(steps, (std::set<std::int64_t>{3, 4, 5}));
    EXPECT_EQ(calls, (std::set<std::string>{"recv", "send"}));
}

TEST(Resolve, GivesOneSeedOnePlan) {
    SampleFile file;
    file.cluster = "nodes = [2, 4]\n";
    std::set<std::string> digests;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        const Plan plan = resolved(file, seed).fault;
        EXPECT_EQ(plan, resolved(file, seed).fault);
        digests.insert(scenarios::digest(plan));
    }
    EXPECT_EQ(digests.size(), 20u);
}

TEST(Resolve, LetsNoDrawMoveAnother) {
    SampleFile small;
    SampleFile large;
    large.workload = "kind = \"data_parallel\"\nsteps = \"10..20\"\nstep_time = [\"1ms\", \"2ms\"]\n";
    large.more_faults = "[[fault]]\nkind = \"slow_link\"\nnode = \"any\"\nfactor = \"2x..9x\"\n";
    for (std::uint64_t seed = 0; seed < 50; ++seed) EXPECT_EQ(ranks_of(small, seed), ranks_of(large, seed));
}

TEST(Resolve, LetsAStoryChangeWithoutMovingADraw) {
    std::string toml = SampleFile{}.toml();
    const auto before = load_sample(toml).value();
    toml.replace(toml.find("A story"), 7, "Another");
    const auto after = load_sample(toml).value();
    EXPECT_NE(before.digest, after.digest);
    const auto vocabulary = sample_vocabulary();
    const scenarios::Capabilities all{.levers = {"*"}, .workloads = {"*"}};
    EXPECT_EQ(scenarios::resolve(before, {7}, all, vocabulary)->fault.faults,
              scenarios::resolve(after, {7}, all, vocabulary)->fault.faults);
}

TEST(Resolve, LetsLaterFaultsReferToEarlierOnes) {
    SampleFile file;
    file.fault = "kind = \"kill_rank\"\nrank = \"any 2\"\nwhen = { step = 1 }\n";
    file.more_faults =
        "[[fault]]\nkind = \"bend_value\"\nrank = \"others\"\nseam = \"shard.offset\"\n"
        "[[fault]]\nkind = \"slow_link\"\nnode = \"last\"\n[[fault]]\nkind = \"kill_rank\"\nrank = "
        "\"same\"\nwhen = { step = 2 }\n";
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        std::vector<std::int64_t> both = ranks_of(file, seed, 0);
        const auto others = ranks_of(file, seed, 1);
        both.insert(both.end(), others.begin(), others.end());
        EXPECT_EQ(std::set<std::int64_t>(both.begin(), both.end()).size(), 8u);
        EXPECT_EQ(ranks_of(file, seed, 3),
                  (std::vector<std::int64_t>{4, 5, 6, 7}));  // those behind the slow link
    }
}

TEST(Resolve, NamesTheRanksOfTheExpectationInWords) {
    const auto ranks = [](const std::string& words) {
        SampleFile file;
        file.expect += "rank = \"" + words + "\"\n";
        const auto trial = resolve_sample(file);
        EXPECT_TRUE(trial) << trial.error().text();
        return trial ? trial->fault.expect.ranks : std::vector<std::int64_t>();
    };
    EXPECT_EQ(ranks("node 1"), (std::vector<std::int64_t>{4, 5, 6, 7}));
    EXPECT_EQ(ranks("all but 0"), (std::vector<std::int64_t>{1, 2, 3, 4, 5, 6, 7}));
    EXPECT_EQ(ranks("same"), resolve_sample({})->fault.faults[0].ranks());
    SampleFile outside;
    outside.expect += "rank = \"node 9\"\n";
    EXPECT_NE(refusal_of_resolving(outside).find("9"), std::string::npos);
}

TEST(Resolve, LetsAFaultActBeforeTheStartOnlyWhereNothingElseIsSaid) {
    SampleFile file;
    file.fault = "kind = \"bend_value\"\nrank = 1\nseam = \"shard.offset\"\n";
    EXPECT_TRUE(resolved(file).fault.faults.at(0).when.at_start);
    for (const char* when :
         {"step = 2", "at = \"3s\"", "phase = \"forward\"", "before = \"send\"", "comm = \"tp\""}) {
        SampleFile later = file;
        later.fault += "when = { " + std::string(when) + " }\n";
        EXPECT_FALSE(resolved(later).fault.faults.at(0).when.at_start) << when;
    }
    file.fault += "when = { lasts = \"3s\" }\n";
    EXPECT_TRUE(resolved(file).fault.faults.at(0).when.at_start);
    EXPECT_EQ(resolved(file).fault.faults.at(0).when.lasts, 3'000'000'000);
}

}  // namespace
}  // namespace deadrank::tests
