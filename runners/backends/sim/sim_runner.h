// runners/backends/sim/sim_runner.h — Plays a plan in the simulated cluster: one seed, one run, on every
// machine.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "inject/faults/fault_catalog.h"
#include "runners/backend/runner.h"
#include "runners/backends/sim/stages.h"
#include "sim/workloads/workload_catalog.h"

namespace deadrank::runners {

class SimRunner final : public Runner {
public:
    // `more`: workloads besides those of the catalogue. `faults`: all that a plan may name.
    explicit SimRunner(std::vector<sim::WorkloadKind> more = {},
                       inject::FaultCatalog faults = inject::fault_catalog())
        : more_(std::move(more)), faults_(std::move(faults)) {}

    std::string_view name() const override { return "sim"; }
    scenarios::Capabilities capabilities() const override;

    // Thread-safe. Further errors: internal, if a run continues without time passing.
    scenarios::Result<Record> play(const scenarios::Plan& plan, const RunOptions& options) override;

private:
    const sim::WorkloadKind* find_workload(std::string_view name) const;

    std::vector<sim::WorkloadKind> more_;
    inject::FaultCatalog faults_;
    Stages stages_;
};

}  // namespace deadrank::runners
