// results/detectors/detect.h — Asks every detector that is switched on about one run's evidence, and says
// what none of them could see in it.
#pragma once

#include <string>
#include <vector>

#include "results/detectors/detector.h"
#include "results/record/evidence.h"

namespace deadrank::results {

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

}  // namespace deadrank::results
