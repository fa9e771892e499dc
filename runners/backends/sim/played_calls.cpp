// runners/backends/sim/played_calls.cpp — An interceptor that changes nothing and records every call.
#include "runners/backends/sim/played_calls.h"

#include "results/record/evidence.h"
#include "runners/backends/sim/stages.h"
#include "runners/runner/plan_settings.h"
#include "scenarios/model/plan.h"
#include "sim/cluster/cluster.h"

namespace deadrank::runners {

namespace {

class Writer final : public sim::Interceptor {
public:
    explicit Writer(PlayedJob& job) : job_(job) {}

    void before(sim::Call& call) override {
        job_.ranks[static_cast<std::size_t>(call.rank)].push_back({.kind = call.kind,
                                                                   .name = std::string(sim::call_name(call)),
                                                                   .comm = std::string(call.comm),
                                                                   .step = call.step,
                                                                   .phase = call.phase,
                                                                   .count = call.count,
                                                                   .dtype = call.dtype,
                                                                   .peer = call.root});
    }

private:
    PlayedJob& job_;
};

// The stated values, completed by the parameters' defaults.
scenarios::Result<scenarios::Values> filled(const std::vector<scenarios::Parameter>& parameters,
                                            const scenarios::Values& said) {
    scenarios::Values values = said;
    for (const scenarios::Parameter& parameter : parameters) {
        if (parameter.fallback.empty() || values.contains(parameter.name)) continue;
        auto value = scenarios::parse_value(parameter.type, parameter.fallback);
        if (!value) return tl::unexpected(value.error());
        values.emplace(parameter.name, std::move(*value));
    }
    return values;
}

}  // namespace

bool PlayedCall::is_like(const PlayedCall& other) const {
    const bool sized = kind != sim::CallKind::seam;
    return kind == other.kind && name == other.name && comm == other.comm && phase == other.phase &&
           dtype == other.dtype && (!sized || count == other.count);
}

scenarios::Result<PlayedJob> played_calls(const sim::WorkloadKind& kind, const scenarios::Values& cluster,
                                          const scenarios::Values& workload) {
    const auto machines = filled(scenarios::cluster_parameters(), cluster);
    if (!machines) return tl::unexpected(machines.error());
    auto settings = cluster_settings(*machines);
    if (!settings) return tl::unexpected(settings.error());
    if (!kind.words.levers.empty()) settings->launcher = sim::LauncherKind::replicas;
    const auto values = filled(kind.words.parameters, workload);
    if (!values) return tl::unexpected(values.error());
    PlayedJob job;
    Stages stages;
    stages.play([&](sim::Engine& engine) {
        results::Evidence unkept;
        unkept.keep(false);
        sim::Cluster played(engine, *settings, sim::Seed{1}, unkept);
        job.ranks.resize(static_cast<std::size_t>(played.processes()));
        Writer writer(job);
        played.intercept(&writer);
        for (results::Rank rank = 0; rank < played.processes(); ++rank) played.arm(rank);
        job.hash = played.run(kind.script(*values)).hash;
    });
    return job;
}

}  // namespace deadrank::runners
