// tests/results/detectors/asked.h — Asks one detector about hand-made evidence; a failure shows all that it
// said.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "results/detectors/detector.h"
#include "tests/results/evidence_builder.h"

namespace deadrank::tests {

// The one finding, or an empty one and a red test.
template <class Which>
Finding found_by(const Evidence& evidence) {
    const auto findings = Which().examine(evidence);
    EXPECT_EQ(findings.size(), 1u) << "findings of " << Which().name();
    if (findings.empty()) return {};
    const auto own = Which().symptoms();
    EXPECT_NE(std::find(own.begin(), own.end(), findings[0].symptom), own.end())
        << "undeclared " << findings[0].symptom;
    EXPECT_FALSE(findings[0].says.empty());
    EXPECT_FALSE(findings[0].causes.empty());
    EXPECT_LE(findings[0].at, evidence.observed_until());
    EXPECT_EQ(findings[0].detector, Which().name());
    return findings[0];
}

template <class Which>
void expect_silence_of(const Evidence& evidence) {
    for (const Finding& finding : Which().examine(evidence))
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
