// results/detectors/detect.h — Runs every detector of the catalog over one piece of evidence and settles what
// they say together. Where two describe the same event, the more specific one speaks: an explicit mismatch
// beats a time-out, a time-out a hang.
#pragma once

#include <memory>
#include <vector>

#include "results/detectors/detector.h"

namespace deadrank::results {

using Detectors = std::vector<std::unique_ptr<Detector>>;

// The catalog: one line per detector in detectors/catalog.cpp.
Detectors all_detectors();

// In order of time. A detector that throws yields a finding of symptom "detector_crashed" and never hides the
// others.
std::vector<Finding> detect(const Evidence& evidence, const Detectors& detectors);

}  // namespace deadrank::results
