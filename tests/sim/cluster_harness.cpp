// tests/sim/cluster_harness.cpp — Playing a script on a stage of its own.
#include "tests/sim/cluster_harness.h"

namespace deadrank::sim {

std::vector<std::string> Trial::lines(Rank rank) const {
    std::vector<std::string> found;
    for (const results::Event& event : evidence.events()) {
        const auto* log = event.as<results::RankLog>();
        if (log && event.rank == rank) found.emplace_back(evidence.text(log->line));
    }
    return found;
}

bool Trial::says(Rank rank, const std::string& words) const {
    for (const std::string& line : lines(rank)) {
        if (line.find(words) != std::string::npos) return true;
    }
    return false;
}

ClusterSettings bare(int nodes, int gpus_per_node) {
    ClusterSettings settings;
    settings.nodes = nodes;
    settings.gpus_per_node = gpus_per_node;
    settings.launcher = LauncherKind::bare;
    settings.watchdog = false;
    return settings;
}

Trial play(const ClusterSettings& settings, const Script& script, const Setup& setup, std::uint64_t seed) {
    Trial trial;
    on_stage([&](Engine& engine) {
        Cluster cluster(engine, settings, Seed{seed}, trial.evidence);
        if (setup) setup(cluster);
        trial.result = cluster.run(script);
    });
    return trial;
}

std::unique_ptr<Comm> everybody(World& world, const std::string& name) {
    CommRequest request{name, {}, world.process()};
    request.members = Members::range(0, world.processes());
    return world.communicator(request);
}

void sum(World& world) {
    const auto comm = everybody(world);
    std::vector<Number> data(summed_numbers, 1);
    comm->all_reduce(data);
    if (data.back() != comm->size()) throw RankFailure("wrong sum");
}

Setup altering(Interceptor& interceptor, Rank rank) {
    return [&interceptor, rank](Cluster& cluster) {
        cluster.intercept(&interceptor);
        cluster.arm(rank);
    };
}

}  // namespace deadrank::sim
