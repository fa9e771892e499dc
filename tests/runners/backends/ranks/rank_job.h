// tests/runners/backends/ranks/rank_job.h — A small job, with a fault or without, for runners of real ranks
// and the simulator alike.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "runners/backend/extension.h"
#include "scenarios/format/plan_file.h"
#include "scenarios/model/plan.h"

namespace deadrank::testing_ranks {

// A setting as a scenario's file would state it.
inline scenarios::Setting stated(const std::vector<scenarios::Parameter>& known, const std::string& name,
                                 const std::string& words) {
    for (const scenarios::Parameter& parameter : known) {
        if (parameter.name == name)
            return {.options = {scenarios::parse_value(parameter.type, words).value()}};
    }
    throw std::runtime_error("there is no setting " + name);
}
inline scenarios::Setting of_cluster(const std::string& name, const std::string& words) {
    return stated(scenarios::cluster_parameters(), name, words);
}

// One node; `launcher` "bare" has nobody who watches over the ranks.
inline scenarios::Scenario small_job(const std::string& workload = "data_parallel", std::int64_t world = 2,
                                     const std::string& launcher = "torchrun") {
    scenarios::Scenario scenario;
    scenario.id = "test/small";
    scenario.digest = "0123456789abcdef";
    scenario.bug = {"communication",
                    "collective_deadlock_hang",
                    "unpropagated_rank_failure",
                    "validation_and_failure_handling",
                    {}};
    scenario.cluster["nodes"] = of_cluster("nodes", "1");
    scenario.cluster["gpus_per_node"] = of_cluster("gpus_per_node", std::to_string(world));
    scenario.cluster["launcher"] = of_cluster("launcher", launcher);
    scenario.cluster["watchdog"] = of_cluster("watchdog", "false");
    const scenarios::Vocabulary words = runners::vocabulary();
    scenario.workload_kind = workload;
    scenario.workload["steps"] = stated(words.workload(workload)->parameters, "steps", "4");
    scenario.expect.symptom = "collective_deadlock_hang";
    return scenario;
}

constexpr std::int64_t no_rank = -1;

inline scenarios::FaultSettings fault(const std::string& kind, std::int64_t rank,
                                      const std::string& before = "all_reduce") {
    using scenarios::ValueType;
    scenarios::FaultSettings fault{.kind = kind};
    if (rank != no_rank) fault.parameters["rank"] = {.options = {{.type = ValueType::ranks, .list = {rank}}}};
    fault.when.values["step"] = {.options = {{.type = ValueType::integer, .number = 2}}};
    if (!before.empty())
        fault.when.values["before"] = {.options = {{.type = ValueType::text, .text = before}}};
    return fault;
}

inline scenarios::Plan resolved(const scenarios::Scenario& scenario, const scenarios::Capabilities& backend) {
    auto trial = scenarios::resolve(scenario, {1}, backend, runners::vocabulary());
    if (!trial) throw std::runtime_error(trial.error().text());
    return scenario.faults.empty() ? trial->control : trial->fault;
}

}  // namespace deadrank::testing_ranks
