// runners/sim/runner.h — Plays a plan in the simulated cluster: one seed, one run, on every machine.
#pragma once

#include "runners/runner.h"
#include "runners/sim/stages.h"

namespace deadrank::runners {

class SimRunner final : public Runner {
public:
    std::string_view name() const override { return "sim"; }
    scenarios::Capabilities capabilities() const override;

    // Safe from several threads at once. Further errors: internal, when a run goes on without time passing.
    scenarios::Result<Record> run(const scenarios::Plan& plan, const RunOptions& options) override;

private:
    Stages stages_;
};

}  // namespace deadrank::runners
