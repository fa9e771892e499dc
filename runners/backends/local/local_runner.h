// runners/backends/local/local_runner.h — Plays a plan in real processes under a real PyTorch, over gloo on
// this machine.
#pragma once

#include <optional>

#include "runners/backend/runner.h"
#include "runners/backends/local/manifest.h"

namespace deadrank::runners {

class LocalRunner final : public Runner {
public:
    LocalRunner() = default;
    // The program under test; without one, our own program that plays the scenario's workload.
    explicit LocalRunner(Manifest subject) : subject_(std::move(subject)) {}

    std::string_view name() const override { return "local"; }
    scenarios::Capabilities capabilities() const override;
    scenarios::Result<void> check_plan(const scenarios::Plan& plan) override;
    bool reads(const scenarios::Plan& plan, const std::string& setting) override;
    scenarios::Result<Record> play(const scenarios::Plan& plan, const RunOptions& options) override;

private:
    scenarios::Result<Manifest> subject_of(const scenarios::Plan& plan) const;

    std::optional<Manifest> subject_;
};

}  // namespace deadrank::runners
