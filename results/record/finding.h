// results/record/finding.h — What a detector says: a symptom of the taxonomy, who is to blame, and when the
// evidence sufficed to say so.
#pragma once

#include <string>
#include <vector>

#include "results/record/blame.h"
#include "results/record/time.h"

namespace deadrank::results {

struct Finding {
    std::string symptom;        // id of the taxonomy
    std::string detector = {};  // filled in by whoever runs the detector
    Blame blame;
    Time at{0};                             // when the evidence sufficed for an alarm
    std::string says;                       // one sentence with the numbers seen
    std::vector<std::string> causes = {};   // likely root causes, most likely first; may be empty
    bool outlived = false;                  // an error after which the ranks at fault went on
    std::vector<Finding> followed_by = {};  // the standstill of other ranks that it explains
    // The detector itself failed, and `says` is its error: nothing was found, and the symptom is none of the
    // taxonomy.
    bool detector_failed = false;

    bool operator==(const Finding&) const = default;
};
using Findings = std::vector<Finding>;

}  // namespace deadrank::results
