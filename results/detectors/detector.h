// results/detectors/detector.h — A detector reads evidence and names what it believes. It is never told what
// was injected. Pure: the same evidence gives the same findings, so it runs as well on old runs and on a
// stranger's logs.
#pragma once

#include <string_view>
#include <vector>

#include "results/record/evidence.h"
#include "results/record/finding.h"

namespace deadrank::results {

class Detector {
public:
    virtual ~Detector() = default;
    virtual std::string_view name() const = 0;
    virtual std::vector<std::string_view> symptoms() const = 0;  // what it can report
    virtual std::vector<Finding> examine(const Evidence& evidence) const = 0;
};

}  // namespace deadrank::results
