// results/detectors/detector.h — A detector reads evidence and names what it believes. It is never told what was
// injected. Pure: the same evidence gives the same findings, so it runs as well on old runs and on a
// stranger's logs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "results/record/blame.h"
#include "results/record/evidence.h"

namespace deadrank::results {

struct Finding {
    std::string symptom;   // id of the taxonomy
    std::string detector;  // who says so
    Blame blame;
    Time at{0};                            // when the evidence sufficed: an alarm could ring then
    std::string says;                      // one sentence with the numbers seen
    std::vector<std::string> causes = {};  // likely root causes, most likely first; may be empty

    bool operator==(const Finding&) const = default;
};

class Detector {
public:
    virtual ~Detector() = default;
    virtual std::string_view name() const = 0;
    virtual std::vector<std::string_view> symptoms() const = 0;  // what it can report
    virtual std::vector<Finding> examine(const Evidence& evidence) const = 0;
};

}  // namespace deadrank::results
