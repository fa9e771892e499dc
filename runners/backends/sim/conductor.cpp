// runners/backends/sim/conductor.cpp — The one place where the simulated world and the faults meet.
#include "runners/backends/sim/conductor.h"

namespace deadrank::runners {

Conductor::Conductor(sim::Cluster& cluster, inject::Injector& injector, PatchRank patch)
    : cluster_(cluster), injector_(injector), levers_(cluster, std::move(patch)) {}

Result<Done> Conductor::start() {
    if (const auto started = injector_.at_start(levers_); !started) return started;
    for (Rank rank = 0; rank < cluster_.processes(); ++rank) arm(rank);
    cluster_.intercept(this);
    set_alarm();
    return Done{};
}

void Conductor::before(sim::Call& call) {
    if (injector_.armed(call.rank)) {
        levers_.under_way(&call);
        injector_.at({.rank = call.rank,
                      .now = call.now,
                      .step = call.step,
                      .phase = call.phase,
                      .call = call_name(call),
                      .comm = call.comm},
                     levers_);
        levers_.under_way(nullptr);
        set_alarm();
    }
    levers_.shape(call);
    arm(call.rank);
}

void Conductor::replaced(int node) {
    injector_.replaced(node, cluster_.now(), levers_);
    for (const Rank rank : cluster_.processes_of(node)) arm(rank);
    set_alarm();
}

void Conductor::arm(Rank rank) { cluster_.arm(rank, injector_.armed(rank) || levers_.shapes(rank)); }

// A cancelled alarm still rings: tick() then finds nothing due.
void Conductor::set_alarm() {
    const results::Time next = injector_.next_alarm();
    if (next >= alarm_) return;
    alarm_ = next;
    cluster_.at(next, [this] {
        alarm_ = results::never;
        injector_.tick(cluster_.now(), levers_);
        set_alarm();
    });
}

}  // namespace deadrank::runners
