// runners/backends/sim/sim_runner.h — Plays a plan in the simulated cluster: one seed, one run, on every
// machine.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "inject/faults/fault_catalog.h"
#include "runners/backend/runner.h"
#include "runners/backends/sim/stages.h"
#include "sim/managed/warm_python.h"
#include "sim/workloads/workload_catalog.h"

namespace deadrank::runners {

class SimRunner final : public Runner {
public:
    // `more`: workloads besides those of the catalogue. `faults`: all that a plan may name.
    // `python`: the interpreters that its programs are forked from; null = of its own.
    explicit SimRunner(std::vector<sim::WorkloadKind> more = {},
                       inject::FaultCatalog faults = inject::fault_catalog(),
                       std::shared_ptr<sim::managed::WarmPython> python = {})
        : more_(std::move(more)), faults_(std::move(faults)), python_(std::move(python)) {}

    std::string_view name() const override { return "sim"; }
    scenarios::Capabilities capabilities() const override;
    std::string find_missing(const scenarios::Scenario& scenario) override;

    // Thread-safe. Further errors: internal, if a run continues without time passing.
    scenarios::Result<Record> play(const scenarios::Plan& plan, const RunOptions& options) override;

private:
    bool starts_processes() const override { return false; }  // managed ranks have a runner of their own
    const sim::WorkloadKind* find_workload(std::string_view name) const;

    std::vector<sim::WorkloadKind> more_;
    inject::FaultCatalog faults_;
    std::shared_ptr<sim::managed::WarmPython> python_;
    Stages stages_;
};

}  // namespace deadrank::runners
