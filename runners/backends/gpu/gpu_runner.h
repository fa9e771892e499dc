// runners/backends/gpu/gpu_runner.h — Plays a plan as a job of NCCL ranks on this machine: the simulator's
// workloads, unchanged, in real processes, with messages through device memory.
#pragma once

#include "runners/backend/runner.h"

namespace deadrank::runners {

class GpuRunner final : public Runner {
public:
    std::string_view name() const override { return "gpu"; }
    scenarios::Capabilities capabilities() const override;

    // Errors: unsupported (what a GPU job cannot do), environment (no GPU, and the drop-in was not
    // requested), io. One run at a time is best.
    scenarios::Result<Record> play(const scenarios::Plan& plan, const RunOptions& options) override;
};

}  // namespace deadrank::runners
