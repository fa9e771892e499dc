// tests/scenarios/resolve_refusals_test.cpp — Goal: what cannot be meant, or cannot be done here, is refused
// before anything runs.
#include <gtest/gtest.h>

#include "scenarios/format/plan_file.h"
#include "tests/scenarios/sample.h"

namespace deadrank::tests {
namespace {

using scenarios::Capabilities;
using scenarios::ErrorCode;

const std::string file_name = "catalog/communication/sample.toml:";

std::string with_fault(std::string lines) { return refusal_of_resolving({.fault = std::move(lines)}); }

TEST(ResolveRefuses, RanksAndNodesOutsideTheCluster) {
    EXPECT_EQ(with_fault("kind = \"kill_rank\"\nrank = 8\n"),
              file_name + "20:8: rank 8 is outside the cluster — it has ranks 0 to 7");
    EXPECT_EQ(with_fault("kind = \"slow_link\"\nnode = [0, 2]\n"),
              file_name + "20:8: node 2 is outside the cluster — it has nodes 0 to 1");
    EXPECT_EQ(refusal_of_resolving({.expect = "rank = 9\n"}),
              "catalog/communication/sample.toml: rank 9 is outside the cluster — it has ranks 0 to 7");
}

TEST(ResolveRefuses, StepsAfterTheEnd) {
    EXPECT_EQ(with_fault("kind = \"kill_rank\"\nrank = 1\nwhen = { step = 10 }\n"),
              file_name + "21:17: step 10 is after the end — the workload has steps 0 to 9");
    EXPECT_EQ(with_fault("kind = \"kill_rank\"\nrank = 1\nwhen = { step = 5, until_step = 4 }\n"),
              file_name + "21:33: until_step 4 is before step 5 — let it end at its first step or later");
    EXPECT_EQ(refusal_of_resolving({.expect = "step = 10\n"}),
              "catalog/communication/sample.toml: step 10 is after the end — the workload has steps 0 to 9");
}

TEST(ResolveRefuses, ShapesThatDoNotFit) {
    EXPECT_EQ(refusal_of_resolving({.cluster = "nodes = 1\nranks = 5\n"}),
              file_name + "14:9: 5 ranks need more than the 4 devices — each rank has a device of its own");
    EXPECT_EQ(refusal_of_resolving({.cluster = "nodes = 1000000\ngpus_per_node = 1000000\n"}),
              file_name + "13:9: 1000000000000 ranks are out of all bounds — the most is 10000000");
    EXPECT_EQ(refusal_of_resolving({.cluster = "nodes = 2000000\n"}),
              file_name + "13:9: nodes = 2000000 is out of all bounds — the most is 1000000");
    EXPECT_EQ(
        refusal_of_resolving({.cluster = "gpus_per_node = 3\n", .workload = "kind = \"tensor_parallel\"\n"}),
        "catalog/communication/sample.toml: tp_size = 4 does not divide the 6 ranks — choose a divisor of "
        "them, or another "
        "shape of the cluster");
    EXPECT_EQ(refusal_of_resolving({.workload = "kind = \"tensor_parallel\"\ntp_size = 0\n"}),
              file_name +
                  "16:11: tp_size = 0 does not divide the 8 ranks — choose a divisor of them, or another "
                  "shape of the cluster");
}

TEST(ResolveRefuses, AContradictionOfTheHealedRunAlone) {
    EXPECT_EQ(refusal_of_resolving({.heal = "fault = \"keep\"\n[heal.workload]\nsteps = 2\n"}),
              file_name + "21:17: healed, step 3 is after the end — the workload has steps 0 to 1");
}

TEST(ResolveRefuses, OnlyTheSeedsThatContradict) {
    const SampleFile file{.cluster = "nodes = [1, 2]\n",
                          .fault = "kind = \"kill_rank\"\nrank = 5\nwhen = { step = 1 }\n"};
    int refused = 0;
    for (std::uint64_t seed = 0; seed < 100; ++seed)
        refused += refusal_of_resolving(file, seed) == "resolves" ? 0 : 1;
    EXPECT_GT(refused, 20);
    EXPECT_LT(refused, 80);
}

TEST(ResolveRefuses, WhatABackendCannotDoAsUnsupported) {
    const auto scenario = load_sample(SampleFile{}.toml()).value();
    const auto refusal = [&](const Capabilities& backend) {
        const auto trial = scenarios::resolve(scenario, {1}, backend, sample_vocabulary());
        if (trial) return std::string("resolves");
        EXPECT_EQ(trial.error().code, ErrorCode::unsupported);
        return trial.error().text();
    };
    EXPECT_EQ(
        refusal({.backend = "local", .levers = {"stop"}, .workloads = {"*"}}),
        file_name + "18:1: the backend local cannot kill_rank: it lacks the lever 'kill' — --runner sim can");
    EXPECT_EQ(refusal({.backend = "local", .levers = {"*"}, .workloads = {"zero"}}),
              "catalog/communication/sample.toml: the backend local has no workload 'data_parallel' — "
              "--runner sim can");
    EXPECT_EQ(refusal({.backend = "local", .levers = {"*"}, .workloads = {"*"}, .ranks_max = 4}),
              "catalog/communication/sample.toml: 8 ranks are more than the 4 of the backend local — "
              "--runner sim can");
    EXPECT_EQ(refusal({.backend = "local", .levers = {"kill"}, .workloads = {"data_parallel"}}), "resolves");
}

TEST(Resolve, TakesALeverForAllOfItsKinds) {
    const auto scenario = load_sample(SampleFile{.fault = "kind = \"slow_link\"\nnode = 1\n"}.toml()).value();
    const auto works = [&](const char* lever) {
        return scenarios::resolve(scenario, {1}, {.levers = {lever}, .workloads = {"*"}}, sample_vocabulary())
            .has_value();
    };
    EXPECT_TRUE(works("change_link.slow"));
    EXPECT_TRUE(works("change_link"));
    EXPECT_FALSE(works("change_link.down"));
}

}  // namespace
}  // namespace deadrank::tests
