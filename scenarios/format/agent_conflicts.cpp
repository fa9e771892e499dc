// scenarios/format/agent_conflicts.cpp — Refuses settings of [cluster] about agents and their store that
// contradict each other, or that the workload cannot play.
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "scenarios/format/closing.h"

namespace deadrank::scenarios {

namespace {

using Found = std::optional<Contradiction>;

bool states(const Values& values, const char* name) {
    const auto found = values.find(name);
    return found != values.end() && found->second.number != 0;
}

Found needs_torchrun(const Plan& plan, const char* setting, std::string says) {
    const LauncherKind launcher = launcher_of(plan);
    if (launcher == LauncherKind::torchrun) return std::nullopt;
    return Contradiction{std::string("cluster.") + setting,
                         fmt::format("{} has no agents that {}", enum_name(launcher), says),
                         "say launcher = \"torchrun\""};
}

Found fewer_nodes(const Plan& plan, const Vocabulary& vocabulary) {
    const std::int64_t least = cluster_number(plan, "nodes_min", 0);
    if (least == 0) {
        if (!states(plan.cluster, "node_returns_after")) return std::nullopt;
        return Contradiction{"cluster.node_returns_after", "no agent takes a node in without nodes_min",
                             "set nodes_min as well, or take its place with spare_nodes"};
    }
    if (auto found = needs_torchrun(plan, "nodes_min", "go on with fewer nodes")) return found;
    if (const std::int64_t nodes = plan.number(plan.cluster, "nodes"); least > nodes) {
        return Contradiction{"cluster.nodes_min", fmt::format("nodes_min = {} of {} nodes", least, nodes),
                             "`nodes` is the most of --nnodes=MIN:MAX"};
    }
    if (states(plan.cluster, "individuals"))
        return Contradiction{"cluster.nodes_min", "a crowd of ranks is not numbered anew",
                             "leave out 'individuals'"};
    const Kind* kind = vocabulary.workload(plan.workload_kind);
    if (!kind) return std::nullopt;
    for (const char* setting : {"reference", "assert_equal"}) {
        if (!states(plan.workload, setting)) continue;
        return Contradiction{std::string("workload.") + setting,
                             "another number of ranks trains with other samples than the one-rank run",
                             fmt::format("leave out {}, or nodes_min", setting)};
    }
    if (kind->resizes) return std::nullopt;
    std::vector<std::string> able;
    for (const Kind& other : vocabulary.workloads)
        if (other.resizes) able.push_back(other.name);
    return Contradiction{
        "cluster.nodes_min",
        fmt::format("{} cannot go on from its checkpoint with another number of ranks", kind->name),
        fmt::format("play {}, or leave out nodes_min", fmt::join(able, " or "))};
}

Found kept_store(const Plan& plan, const Vocabulary& vocabulary) {
    const auto store = cluster_choice<StoreLife>(plan, "store");
    if (store == StoreLife::rank) {
        for (const char* setting : {"run_id", "restart_count"}) {
            if (!plan.cluster.contains(setting)) continue;
            return Contradiction{std::string("cluster.") + setting,
                                 fmt::format("{} does nothing while the store lives in rank 0", setting),
                                 "set store = \"agent\" or \"service\" as well"};
        }
        for (std::size_t i = 0; i < plan.faults.size(); ++i) {
            const Kind* kind = vocabulary.fault(plan.faults[i].kind);
            if (!kind || !kind->kept_store) continue;
            return Contradiction{fmt::format("fault.{}.kind", i), "no other job meets in a store of rank 0",
                                 "set store = \"agent\" or \"service\" in [cluster]"};
        }
        return std::nullopt;
    }
    if (launcher_of(plan) == LauncherKind::replicas)
        return Contradiction{"cluster.store", "with replicas the store is a service anyway", "leave it out"};
    if (store == StoreLife::agent) return needs_torchrun(plan, "store", "keep a store");
    const bool agents = cluster_choice<RestartCount>(plan, "restart_count") == RestartCount::agent;
    return agents ? needs_torchrun(plan, "restart_count", "count restarts") : std::nullopt;
}

}  // namespace

Found meeting_contradiction(const Plan& plan, const Vocabulary& vocabulary) {
    auto found = fewer_nodes(plan, vocabulary);
    return found ? found : kept_store(plan, vocabulary);
}

}  // namespace deadrank::scenarios
