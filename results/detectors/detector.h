// results/detectors/detector.h — A detector reads evidence and names what it believes. It is never told what
// was injected. Pure: the same evidence gives the same findings, so it runs as well on old runs and on a
// stranger's logs.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "results/record/evidence.h"
#include "results/record/finding.h"

namespace deadrank::results {

// A detector of ours is a function and this row, both in one file; catalog.cpp lists the rows. The members
// below `examine` are what settle() weighs when two findings describe the same event.
struct DetectorRow {
    std::string_view name;
    std::vector<std::string_view> reports;  // the symptoms that it may report
    Findings (*examine)(const Evidence& evidence);

    // It says why, where others say what: a version that differs (2) or a variable (1), and what broke by it.
    // Of two findings of one symptom the greater one speaks. 0 = it sees the symptom itself.
    int reason = 0;
    // What it finds was so before the step that shows it, so that no crash and no earlier step explains it:
    // parts of a tensor that ranks believe to own overlap from the first step on.
    bool from_the_start = false;
};

// What can be asked about evidence: a row of ours, or a tool of somebody else's with a state of its own.
class Detector {
public:
    virtual ~Detector() = default;
    virtual std::string_view name() const = 0;
    virtual std::vector<std::string_view> symptoms() const = 0;  // what it can report
    virtual Findings examine(const Evidence& evidence) const = 0;
};
using Detectors = std::vector<std::unique_ptr<Detector>>;

// The row as a detector; it signs its findings with its name. The row outlives it.
std::unique_ptr<Detector> make_detector(const DetectorRow& row);

}  // namespace deadrank::results
