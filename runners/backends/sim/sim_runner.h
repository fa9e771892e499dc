// runners/backends/sim/sim_runner.h — Plays a plan in the simulated cluster: one seed, one run, on every
// machine.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "runners/backend/runner.h"
#include "runners/backends/sim/stages.h"
#include "sim/workloads/workload_catalog.h"

namespace deadrank::runners {

class SimRunner final : public Runner {
public:
    // `more`: workloads besides those of the catalog.
    explicit SimRunner(std::vector<sim::WorkloadKind> more = {}) : more_(std::move(more)) {}

    std::string_view name() const override { return "sim"; }
    scenarios::Capabilities capabilities() const override;

    // Thread-safe. Further errors: internal, if a run continues without time passing.
    scenarios::Result<Record> run(const scenarios::Plan& plan, const RunOptions& options) override;

private:
    const sim::WorkloadKind* find_workload(std::string_view name) const;

    std::vector<sim::WorkloadKind> more_;
    Stages stages_;
};

}  // namespace deadrank::runners
