// results/detectors/native_crash.h — A process died by a signal, without an exception first.
#pragma once

#include "results/detectors/detector.h"

namespace deadrank::results::detectors {

class NativeCrash final : public Detector {
public:
    std::string_view name() const override { return "native_crash"; }
    std::vector<std::string_view> symptoms() const override { return {"native_crash_or_illegal_access"}; }
    std::vector<Finding> examine(const Evidence& evidence) const override;
};

}  // namespace deadrank::results::detectors
