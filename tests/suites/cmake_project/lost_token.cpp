// tests/suites/cmake_project/lost_token.cpp — Evidence is in order of time, so the first sample that differs
// is where it happened.
#include "lost_token.h"

namespace results = deadrank::results;

std::vector<results::Finding> LostToken::examine(const results::Evidence& evidence) const {
    for (const results::Event* event : evidence.each<results::ValueSample>()) {
        const results::ValueSample& sample = *event->as<results::ValueSample>();
        if (evidence.text(sample.name) != "token" || sample.value == sample.expected) continue;
        results::Finding finding{.symptom = "wrong_intermediate_value", .detector = std::string(name())};
        finding.blame.ranks = {event->rank};
        finding.blame.step = sample.step;
        finding.at = event->at;
        finding.says = "the token was lost";
        return {finding};
    }
    return {};
}

results::Detectors lost_token_detectors() {
    results::Detectors detectors;
    detectors.push_back(std::make_unique<LostToken>());
    return detectors;
}
