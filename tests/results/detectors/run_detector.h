// tests/results/detectors/run_detector.h — Asks one detector about hand-made evidence; a failure shows all
// that it said.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdexcept>

#include "results/detectors/detector.h"
#include "tests/results/evidence_builder.h"

namespace deadrank::tests {

inline const DetectorRow& row_named(std::string_view detector) {
    const DetectorRow* row = results::find_detector(detector);
    if (!row) throw std::runtime_error("there is no detector " + std::string(detector));
    return *row;
}

inline Findings asked(std::string_view detector, const Evidence& evidence) {
    return results::make_detector(row_named(detector))->examine(evidence);
}

// The one finding, or an empty one and a red test.
inline Finding found_by(std::string_view detector, const Evidence& evidence) {
    const auto findings = asked(detector, evidence);
    EXPECT_EQ(findings.size(), 1u) << "findings of " << detector;
    if (findings.empty()) return {};
    const auto& own = row_named(detector).reports;
    EXPECT_NE(std::find(own.begin(), own.end(), findings[0].symptom), own.end())
        << "undeclared " << findings[0].symptom;
    EXPECT_FALSE(findings[0].says.empty());
    EXPECT_FALSE(findings[0].causes.empty());
    EXPECT_LE(findings[0].at, evidence.observed_until());
    EXPECT_EQ(findings[0].detector, detector);
    return findings[0];
}

inline void expect_silence_of(std::string_view detector, const Evidence& evidence) {
    for (const Finding& finding : asked(detector, evidence))
        ADD_FAILURE() << finding.detector << ": " << finding.says;
}

// Healthy so far, and in its fourth step.
inline EvidenceBuilder three_steps(Rank ranks) {
    EvidenceBuilder job(ranks);
    job.start().world().step(0).step(1).step(2);
    for (const Rank rank : job.everybody()) job.add(rank, StepBegin{3});
    return job;
}

inline std::vector<Rank> ranks(std::initializer_list<Rank> list) { return list; }

}  // namespace deadrank::tests
