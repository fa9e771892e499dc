// results/detectors/detect.h — Runs every detector of the catalog over one piece of evidence and settles what
// they say together. Where two describe the same event, the more specific one speaks: an explicit mismatch
// beats a time-out, a time-out a hang.
#pragma once

#include "results/detectors/detector.h"

namespace deadrank::results {

// Our own, one line each in detectors/catalog.cpp.
const std::vector<const DetectorRow*>& detector_catalog();
const DetectorRow* find_detector(std::string_view name);  // nullptr: none of ours

Detectors all_detectors();

// In order of time. A detector that throws yields a finding of symptom "detector_crashed" and never hides the
// others.
std::vector<Finding> detect(const Evidence& evidence, const Detectors& detectors);

}  // namespace deadrank::results
