// runners/backends/sim/conductor.h — Carries the cluster's moments to the injector and the injector's alarms
// to the cluster's clock. Ranks for which nothing is planned are never intercepted.
#pragma once

#include "inject/core/injector.h"
#include "runners/backends/sim/sim_levers.h"

namespace deadrank::runners {

class Conductor final : public sim::Interceptor {
public:
    // Both must outlive the cluster's run.
    Conductor(sim::Cluster& cluster, inject::Injector& injector, PatchRank patch = {});

    // Applies the faults of the start, then arms the ranks for which others still wait. Error: a lever that
    // cannot be pulled.
    Result<Done> start();

    void before(sim::Call& call) override;
    void replaced(int node) override;

    // After the run: records in the truth which faults had no moment or no effect.
    void conclude(results::Time end) { injector_.conclude(end, levers_); }

private:
    void arm(Rank rank);
    void set_alarm();

    sim::Cluster& cluster_;
    inject::Injector& injector_;
    SimLevers levers_;
    results::Time alarm_ = results::never;  // the earliest one set in the cluster
};

}  // namespace deadrank::runners
