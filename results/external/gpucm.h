// results/external/gpucm.h — Meta's GPU cluster monitoring: its health check for XIDs, node by node, on a
// kernel log that a dmesg of ours prints.
#pragma once

#include <string>
#include <vector>

#include "results/detectors/detector.h"
#include "results/external/memo.h"

namespace deadrank::results::external {

class Gpucm final : public Detector {
public:
    static scenarios::Result<Gpucm> find(const Bounds& bounds = {});
    std::string_view name() const override { return "gpucm"; }
    std::vector<std::string_view> symptoms() const override { return {"device_fault_reported"}; }
    std::vector<Finding> examine(const Evidence& evidence) const override;
    const std::string& version() const { return version_; }

private:
    Memo::Answer ask(const std::string& log) const;
    std::string program_, version_;
    Bounds bounds_;
    mutable Memo memo_;  // most nodes have nothing to say
};

}  // namespace deadrank::results::external
