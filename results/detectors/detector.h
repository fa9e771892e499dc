// results/detectors/detector.h — A detector reads evidence and names what it believes. It is never told what
// was injected. Pure: the same evidence gives the same findings, so it runs as well on old runs and on a
// stranger's logs. Here, too: how all are asked, and how one event becomes one finding.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "results/record/evidence.h"
#include "results/record/finding.h"

namespace deadrank::results {

// A detector of ours is a function and this row, both in one file; detector_catalog.cpp lists the rows. The
// members below `examine` are what settle() weighs when two findings describe the same event.
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

// Asks every detector that is switched on about one run's evidence, settles what they say together, and says
// what none of them could see in it.

// Runs every detector of the catalog over one piece of evidence and settles what they say together. Where two
// describe the same event, the more specific one speaks: an explicit mismatch beats a time-out, a time-out a
// hang.

// Our own, one line each in detectors/catalog.cpp.
const std::vector<const DetectorRow*>& detector_catalog();
const DetectorRow* find_detector(std::string_view name);  // nullptr: none of ours

Detectors all_detectors();

// In order of time. A detector that throws yields a finding of symptom "detector_crashed" and never hides the
// others.
std::vector<Finding> detect(const Evidence& evidence, const Detectors& detectors);

// What no detector could see in a program, and what it would take.

// Of a job that trained: one sentence for each detector that had nothing to read, with the lines of a
// manifest that would give it that where there are such. Empty for a job that took no step, or of one rank.
std::vector<std::string> blind_spots(const Evidence& evidence);

// What ranks were started or set up with and do not share, one sentence for each variable, version, argument
// or number; what is each rank's own by right is left out. Harmless until something breaks by it.
std::vector<std::string> differing_settings(const Evidence& evidence);

// One event, one finding: of several that describe the same trouble, the one nearest to its root stays.

// Keeps what no other finding explains, in order of time. In short: set-up explains all that follows; the
// first failing rank explains later failures; an explicit mismatch beats a time-out, a time-out a hang; of
// wrong values the earliest step; slowness is explained by anything that broke. Findings far apart in time
// stay separate.
std::vector<Finding> settle(std::vector<Finding> findings);

// Does `root` explain `other`? Exposed for tests and for whoever shows why a finding is missing.
bool explains(const Finding& root, const Finding& other);

}  // namespace deadrank::results
