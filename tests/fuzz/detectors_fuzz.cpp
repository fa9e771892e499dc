// tests/fuzz/detectors_fuzz.cpp — Promise: no evidence makes a detector fail.
#include "results/detectors/detector.h"
#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/target.h"

FUZZ_TARGET(detectors) {
    const MemoryFile file(text);
    const auto evidence = results::read_evidence(file.path());
    if (!evidence) return refused(evidence);
    if (evidence->world_size() > 4'096) return false;  // lists of ten million ranks are slow, and no mistake
    static const results::Detectors detectors = results::all_detectors();
    const auto findings = results::detect(*evidence, detectors);
    for (const results::Finding& finding : findings) CHECK(finding.symptom != "detector_crashed");
    return !findings.empty();
}
