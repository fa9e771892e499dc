// tests/results/alerts_site.h — A small site for the alert tests: 4 x 4 GPUs, a stock install, the tables of
// the repository.
#pragma once

#include <gtest/gtest.h>

#include "results/alerts/promtool_player.h"
#include "results/alerts/report.h"

namespace deadrank::results::alerts::testing {

struct Site {
    exporters::MetricCatalog metrics;
    exporters::SignatureCatalog signatures;
    exporters::World world;

    explicit Site(const std::string& profile = "dcgm-default", exporters::Cluster cluster = {4, 4}) {
        const std::string tables = std::string(DEADRANK_SOURCE_DIRECTORY) + "/results/exporters";
        metrics = exporters::load_metrics(tables + "/metrics").value();
        signatures = exporters::load_signatures(tables + "/signatures").value();
        auto loaded = exporters::load_profile(profile, metrics);
        world = {&metrics, loaded.value(), cluster, {}, 1, 0};
    }
    Site(const Site&) = delete;

    exporters::Incident incident(const std::string& id) const {
        const exporters::Signature* signature = signatures.find(id);
        EXPECT_NE(signature, nullptr) << id;
        return exporters::incident_of(
            *signature, signatures, {exporters::usual_target(world.cluster, signature->scope)}, world.window);
    }
};

inline std::string rule_file(const std::string& name) {
    return std::string(DEADRANK_SOURCE_DIRECTORY) + "/tests/alerts/rules/" + name;
}

// Of this process alone: tests run at the same time.
inline std::string scratch() { return ::testing::TempDir() + "deadrank-alerts-" + std::to_string(::getpid()) + "-"; }

inline std::vector<Rule> rules_of_file(const std::string& name) {
    return read_rules(rule_file(name), scratch()).value().rules;
}

}  // namespace deadrank::results::alerts::testing
