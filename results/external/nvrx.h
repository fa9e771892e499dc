// results/external/nvrx.h — NVIDIA's resiliency extension as detectors: its restart agent and its
// attribution of hangs.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "results/detectors/detector.h"
#include "results/external/memo.h"

namespace deadrank::results::external {

// What the restart agent names as the primary failure.
struct RestartVerdict {
    std::string decision;       // RESTART or STOP
    std::string failure_class;  // empty = no primary failure
    std::optional<Rank> rank;
    std::string signature;
};
// Errors: bad_input, when it is not a restart_agent_response.v1.
scenarios::Result<RestartVerdict> read_restart_response(std::string_view json);

// Our symptom for one of its classes; empty for a class that describes no failure of ours.
std::string_view symptom_of_failure_class(std::string_view failure_class);

class NvrxRestartAgent final : public Detector {
public:
    // Errors: environment, when it is not installed.
    static scenarios::Result<NvrxRestartAgent> find(const processes::Bounds& bounds = {});
    std::string_view name() const override { return "nvrx_restart_agent"; }
    std::vector<std::string_view> symptoms() const override;
    std::vector<Finding> examine(const Evidence& evidence) const override;
    const std::string& version() const { return version_; }

private:
    std::string python_, version_;
    processes::Bounds bounds_;
    mutable Memo memo_;
};

// One row of its table, for a process group: the operation and the ranks that are missing.
struct AttributionRow {
    std::string group, op;
    std::vector<Rank> missing;
    bool operator==(const AttributionRow&) const = default;
};
std::vector<AttributionRow> read_attribution(std::string_view table);

class NvrxAttribution final : public Detector {
public:
    static scenarios::Result<NvrxAttribution> find(const processes::Bounds& bounds = {});
    std::string_view name() const override { return "nvrx_fr_attribution"; }
    std::vector<std::string_view> symptoms() const override;
    std::vector<Finding> examine(const Evidence& evidence) const override;
    const std::string& version() const { return version_; }

private:
    std::string python_, version_;
    processes::Bounds bounds_;
    mutable Memo memo_;
};

}  // namespace deadrank::results::external
