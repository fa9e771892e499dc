// runners/backends/sim/played_calls.cpp — An interceptor that records every call, and changes only what it is
// asked to.
#include "runners/backends/sim/played_calls.h"

#include <algorithm>

#include "results/record/evidence.h"
#include "runners/backend/plan_settings.h"
#include "runners/backends/sim/stages.h"
#include "scenarios/model/plan.h"
#include "sim/cluster/cluster.h"

namespace deadrank::runners {

namespace {

class Writer final : public sim::Interceptor {
public:
    Writer(sim::Cluster& cluster, PlayedJob& job, const Disturbance& disturbance)
        : cluster_(cluster), job_(job), disturbance_(disturbance) {}

    void before(sim::Call& call) override {
        if (call.name.starts_with(sim::setting_seam)) return;  // no place of the program
        job_.ranks[static_cast<std::size_t>(call.rank)].push_back({.kind = call.kind,
                                                                   .name = std::string(sim::call_name(call)),
                                                                   .comm = std::string(call.comm),
                                                                   .step = call.step,
                                                                   .phase = call.phase,
                                                                   .count = call.count,
                                                                   .dtype = call.dtype,
                                                                   .peer = call.root});
        disturb(call);
    }

private:
    void disturb(sim::Call& call) {
        const std::string_view name = sim::call_name(call);
        if (call.kind == sim::CallKind::seam) {
            const auto bent = disturbance_.seams.find(name);
            if (bent != disturbance_.seams.end()) call.count = bent->second;
        }
        const auto& left_out = disturbance_.left_out;
        if (call.kind == sim::CallKind::block)
            call.skip = std::find(left_out.begin(), left_out.end(), name) != left_out.end();
        if (!disturbance_.lost_file.empty() && call.kind == sim::CallKind::step && call.rank == 0 &&
            call.count == 2)
            cluster_.change_storage({disturbance_.lost_file, sim::StorageTrouble::remove});
        const bool now = disturbance_.killed_at < 0 || call.step == disturbance_.killed_at;
        if (killed_ || call.rank != disturbance_.killed || !now || name != disturbance_.killed_before) return;
        call.kill_signal = 9;
        killed_ = true;
    }

    sim::Cluster& cluster_;
    PlayedJob& job_;
    const Disturbance& disturbance_;
    bool killed_ = false;
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
                                          const scenarios::Values& workload, const Disturbance& disturbance) {
    const auto machines = filled(scenarios::cluster_parameters(), cluster);
    if (!machines) return tl::unexpected(machines.error());
    auto settings = cluster_settings(*machines);
    if (!settings) return tl::unexpected(settings.error());
    if (!kind.words.launcher.empty()) settings->launcher = sim::LauncherKind::replicas;
    const auto values = filled(kind.words.parameters, workload);
    if (!values) return tl::unexpected(values.error());
    PlayedJob job;
    Stages stages;
    stages.play([&](sim::Engine& engine) {
        results::Evidence unkept;
        unkept.keep(false);
        sim::Cluster played(engine, *settings, sim::Seed{1}, unkept);
        job.ranks.resize(static_cast<std::size_t>(played.processes()));
        Writer writer(played, job, disturbance);
        for (const auto& [name, value] : disturbance.environment) {
            if (value.empty())
                played.unset_env(1, name);
            else
                played.set_env(1, name, value);
        }
        played.intercept(&writer);
        for (results::Rank rank = 0; rank < played.processes(); ++rank) played.arm(rank);
        job.hash = played.run(kind.script(*values)).hash;
    });
    return job;
}

}  // namespace deadrank::runners
