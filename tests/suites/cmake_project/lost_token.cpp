// tests/suites/cmake_project/lost_token.cpp — Evidence is in order of time, so the first sample that differs
// is where it happened.
#include "lost_token.h"

namespace results = deadrank::results;

namespace {

results::Findings lost_token(const results::Evidence& evidence) {
    for (const results::Event* event : evidence.each<results::ValueSample>()) {
        const results::ValueSample& sample = *event->as<results::ValueSample>();
        if (evidence.text(sample.name) != "token" || sample.value == sample.expected) continue;
        results::Finding finding{.symptom = "wrong_intermediate_value"};
        finding.blame.ranks = {event->rank};
        finding.blame.step = sample.step;
        finding.at = event->at;
        finding.says = "the token was lost";
        return {finding};
    }
    return {};
}

const results::DetectorRow lost_token_row{
    .name = "lost_token", .reports = {"wrong_intermediate_value"}, .examine = lost_token};

}  // namespace

results::Detectors lost_token_detectors() {
    results::Detectors detectors;
    detectors.push_back(results::make_detector(lost_token_row));
    return detectors;
}
