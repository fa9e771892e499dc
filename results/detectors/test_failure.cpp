// results/detectors/test_failure.cpp — One finding for a red report; the first failing test is named.
#include "results/detectors/test_failure.h"

#include <fmt/format.h>

#include "results/detectors/facts/findings.h"

namespace deadrank::results::detectors {

std::vector<Finding> TestFailure::examine(const Evidence& evidence) const {
    const Event* first = nullptr;
    std::vector<Rank> ranks;
    for (const Event* event : evidence.each<TestResult>()) {
        if (event->as<TestResult>()->passed != 0) continue;
        if (!first) first = event;
        ranks.push_back(event->rank);
    }
    if (!first) return {};
    const auto* test = first->as<TestResult>();
    Finding finding{
        .symptom = "ci_or_test_failure",
        .detector = std::string(name()),
        .blame = blame_ranks(evidence.facts<Lives>(), ranks),
        .at = first->at,
        .says = fmt::format("test {} failed: {}", evidence.text(test->name), evidence.text(test->problem)),
        .causes = {"gradient_scaling_or_reduction_error", "communication_order_divergence"}};
    finding.blame.component = evidence.text(test->name);
    return {finding};
}

}  // namespace deadrank::results::detectors
