// tests/runners/sim_settings_test.cpp — Goal: every key of [cluster] reaches the simulated cluster, and none
// is dropped.
#include <gtest/gtest.h>

#include "runners/backend/plan_settings.h"
#include "scenarios/model/plan.h"

namespace deadrank::runners {
namespace {

using scenarios::Value;
using scenarios::ValueType;

TEST(ClusterSettings, KnowEveryKeyThatAScenarioMayWrite) {
    for (const scenarios::Parameter& parameter : scenarios::cluster_parameters()) {
        Value value{.type = parameter.type};
        if (!parameter.fallback.empty())
            value = scenarios::parse_value(parameter.type, parameter.fallback).value();
        const auto settings = cluster_settings({{parameter.name, value}});
        EXPECT_TRUE(settings.has_value()) << settings.error().text();
    }
}

TEST(ClusterSettings, AgreeWithTheDefaultsThatAreDocumented) {
    scenarios::Values all;
    for (const scenarios::Parameter& parameter : scenarios::cluster_parameters()) {
        if (parameter.fallback.empty()) continue;
        all[parameter.name] = scenarios::parse_value(parameter.type, parameter.fallback).value();
    }
    const sim::ClusterSettings documented = cluster_settings(all).value();
    const sim::ClusterSettings own;
    EXPECT_EQ(documented.nodes, own.nodes);
    EXPECT_EQ(documented.gpus_per_node, own.gpus_per_node);
    EXPECT_EQ(documented.link_latency, own.link_latency);
    EXPECT_EQ(documented.link_bandwidth, own.link_bandwidth);
    EXPECT_EQ(documented.device_memory, own.device_memory);
    EXPECT_EQ(documented.storage_bandwidth, own.storage_bandwidth);
    EXPECT_EQ(documented.versions, own.versions);
    EXPECT_EQ(documented.interfaces, own.interfaces);
    EXPECT_EQ(documented.launcher, own.launcher);
    EXPECT_EQ(documented.watchdog, own.watchdog);
    EXPECT_EQ(documented.collective_timeout, own.collective_timeout);
    EXPECT_EQ(documented.store_timeout, own.store_timeout);
    EXPECT_EQ(documented.observe, own.observe);
}

TEST(ClusterSettings, LayVersionsOverTheDefaultOnes) {
    const auto settings =
        cluster_settings({{"versions", {.type = ValueType::table, .table = {{"nccl", "2.19.3"}}}}}).value();
    EXPECT_EQ(settings.versions.at("nccl"), "2.19.3");
    EXPECT_EQ(settings.versions.at("torch"), sim::ClusterSettings().versions.at("torch"));
}

TEST(ClusterSettings, CutTheListOfInterfaces) {
    const auto settings =
        cluster_settings({{"interfaces", {.type = ValueType::text, .text = "eth0, ib0"}}}).value();
    EXPECT_EQ(settings.interfaces, (std::vector<std::string>{"eth0", "ib0"}));
}

TEST(ClusterSettings, RefuseAKeyThatTheyDoNotKnow) {
    EXPECT_FALSE(cluster_settings({{"colour", {}}}).has_value());
}

}  // namespace
}  // namespace deadrank::runners
