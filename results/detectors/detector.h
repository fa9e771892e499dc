// results/detectors/detector.h — A detector reads evidence and reports findings. It never learns what was
// injected. It is pure: the same evidence gives the same findings, so it also works on old runs and on
// third-party logs. Also here: how all detectors run, and how findings about one event become one.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "results/record/evidence.h"
#include "results/record/finding.h"

namespace deadrank::results {

// A detector of ours is a function and this row, both in one file; detector_catalog.cpp lists the rows.
// settle() weighs the members below `examine` when two findings describe the same event.
struct DetectorRow {
    std::string_view name;
    std::vector<std::string_view> reports;  // the symptoms that it may report
    Findings (*examine)(const Evidence& evidence);

    // It reports why, where others report what: a version that differs (2) or a variable (1), and what broke
    // because of it. Of two findings of one symptom the higher value wins. 0 = it sees the symptom itself.
    int reason = 0;
    // Its finding was true before the step that shows it (shards overlap from the first step on), so no crash
    // and no earlier step explains it.
    bool from_the_start = false;
};

// Anything that examines evidence: a row of ours, or a third-party tool with state of its own.
class Detector {
public:
    virtual ~Detector() = default;
    virtual std::string_view name() const = 0;
    virtual std::vector<std::string_view> symptoms() const = 0;  // what it can report
    virtual Findings examine(const Evidence& evidence) const = 0;
};
using Detectors = std::vector<std::unique_ptr<Detector>>;

// A detector over this row, which must outlive it; its findings carry the row's name.
std::unique_ptr<Detector> make_detector(const DetectorRow& row);

// ── Detectors run over the evidence of one run, and their findings are settled: where two describe the same
// event, the more specific one stays.

// Our own detectors, one line each in detector_catalog.cpp.
const std::vector<const DetectorRow*>& detector_catalog();
const DetectorRow* find_detector(std::string_view name);  // nullptr: none of ours

Detectors all_detectors();

// In order of time. A detector that throws yields a finding with `detector_failed`, printed as
// detector_crashed, and does not hide the others.
std::vector<Finding> detect(const Evidence& evidence, const Detectors& detectors);

// What no detector could see in a job, and what it would take to see it.
// For a job that trained: one sentence per detector that had nothing to read, with the manifest lines that
// would provide it, if there are any. Empty for a job that took no step, or of one rank.
std::vector<std::string> blind_spots(const Evidence& evidence);

// What was not recorded to the end: one sentence per rank whose evidence was lost.
std::vector<std::string> lost_evidence(const Evidence& evidence);

// Of a rank whose evidence was lost nothing later can be told, nor of all ranks together. detect() leaves
// such findings out.
bool rests_on_lost_evidence(const Finding& finding, const Evidence& evidence);

// What differs between the ranks at start or set-up: one sentence per variable, version, argument or number,
// except what is legitimately each rank's own. Harmless until something breaks because of it.
std::vector<std::string> differing_settings(const Evidence& evidence);

// One event, one finding: of several that describe the same trouble, the one nearest to the root cause stays.
// Keeps the findings that no other finding explains, in order of time. In short: a set-up failure explains
// all that follows; the first failing rank explains later failures; an explicit mismatch beats a time-out, a
// time-out a hang; of wrong values the earliest step wins; anything that broke explains slowness. Findings
// far apart in time stay separate.
std::vector<Finding> settle(std::vector<Finding> findings);

// Does `root` explain `other`? Exposed for tests, and to show why a finding is missing.
bool explains(const Finding& root, const Finding& other);

}  // namespace deadrank::results
