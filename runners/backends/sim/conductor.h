// runners/backends/sim/conductor.h — Carries the cluster's moments to the injector and the injector's alarms
// to the cluster's clock. Ranks for which nothing is planned are never asked.
#pragma once

#include "inject/core/injector.h"
#include "runners/backends/sim/sim_levers.h"

namespace deadrank::runners {

class Conductor final : public sim::Interceptor {
public:
    // Both outlive the run of the cluster.
    Conductor(sim::Cluster& cluster, inject::Injector& injector);

    // Faults of the start, then arms whom they left waiting. Error: a lever that cannot be pulled.
    Result<Done> start();

    void before(sim::Call& call) override;

    // After the run: says in the truth which faults had no moment or no effect.
    void conclude(results::Time end) { injector_.conclude(end, levers_); }

private:
    void arm(Rank rank);
    void set_alarm();

    sim::Cluster& cluster_;
    inject::Injector& injector_;
    SimLevers levers_;
    results::Time alarm_ = results::never;  // the earliest that the cluster was told of
};

}  // namespace deadrank::runners
