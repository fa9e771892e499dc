// runners/local/local_runner.h — Plays a plan in real processes under a real PyTorch, over gloo on this
// machine.
#pragma once

#include "runners/runner.h"

namespace deadrank::runners {

class LocalRunner final : public Runner {
public:
    std::string_view name() const override { return "local"; }
    scenarios::Capabilities capabilities() const override;
    scenarios::Result<Record> run(const scenarios::Plan& plan, const RunOptions& options) override;
};

}  // namespace deadrank::runners
