// tests/support/healthy_run.h — A workload by name and settings, played in the simulator without a fault.
#pragma once

#include <gtest/gtest.h>
#include <map>
#include <string>

#include "runners/backend/extension.h"
#include "runners/backends/sim/sim_runner.h"
#include "scenarios/format/plan_file.h"
#include "scenarios/model/plan.h"

namespace deadrank::tests {

using Words = std::map<std::string, std::string>;  // settings as one would write them

inline scenarios::Plan plan_of(const std::string& workload, const Words& settings,
                               const Words& cluster = {}) {
    const scenarios::Vocabulary words = runners::vocabulary();
    scenarios::Scenario scenario;
    scenario.id = "test/healthy";
    scenario.workload_kind = workload;
    const auto fill = [](scenarios::Settings& into, const Words& from,
                         const std::vector<scenarios::Parameter>& known) {
        for (const scenarios::Parameter& parameter : known) {
            const auto found = from.find(parameter.name);
            if (found == from.end()) continue;
            into[parameter.name] = {
                .options = {scenarios::parse_value(parameter.type, found->second).value()}};
        }
    };
    fill(scenario.workload, settings, words.workload(workload)->parameters);
    fill(scenario.cluster, cluster, scenarios::cluster_parameters());
    return scenarios::resolve(scenario, {1}, runners::SimRunner().capabilities(), words).value().fault;
}

inline runners::Record played(const scenarios::Plan& plan) {
    auto record = runners::SimRunner().run(plan, {});
    EXPECT_TRUE(record.has_value()) << record.error().text();
    return std::move(*record);
}

}  // namespace deadrank::tests
