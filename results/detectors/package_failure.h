// results/detectors/package_failure.h — A package could not be built, found or imported.
#pragma once

#include "results/detectors/detector.h"

namespace deadrank::results::detectors {

class PackageFailure final : public Detector {
public:
    std::string_view name() const override { return "package_failure"; }
    std::vector<std::string_view> symptoms() const override {
        return {"build_or_install_failure", "import_or_symbol_error"};
    }
    std::vector<Finding> examine(const Evidence& evidence) const override;
};

}  // namespace deadrank::results::detectors
