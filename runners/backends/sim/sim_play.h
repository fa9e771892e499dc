// runners/backends/sim/sim_play.h — One run in the simulated cluster: settings, faults and a script in, a
// record out.
#pragma once

#include <functional>

#include "inject/core/fault.h"
#include "inject/core/injector.h"
#include "runners/backend/runner.h"
#include "runners/backends/sim/sim_levers.h"
#include "sim/cluster/cluster.h"

namespace deadrank::runners {

// What each rank runs, and how the engine plays it.
struct Performance {
    sim::ClusterSettings cluster;
    std::function<void(sim::World&)> script;
    PatchRank patch = {};
    std::function<bool()> stop = {};  // besides that of the options
    std::uint64_t stop_asked_every = 1 << 20;
    std::size_t stack_bytes = 64 << 10;
    inject::Gate gate = {};  // asked before each fault acts
    std::function<void()> at_standstill = {};  // at the end of a run whose ranks still wait
    std::function<void(const sim::Cluster&)> at_end = {};  // after every run
};

// Errors: those of the injector and of levers; internal, if a run continues without time passing.
scenarios::Result<Record> simulate(sim::Engine& engine, const inject::FaultCatalog& faults,
                                   const scenarios::Plan& plan, const Performance& performance,
                                   const RunOptions& options);

}  // namespace deadrank::runners
