// results/detectors/test_failure.cpp — A project's own test failed: one finding per failed report. Blame the
// process that failed; if the test hung until its time-out, the ranks that the others waited for.
#include <fmt/format.h>

#include "results/analysis/findings.h"
#include "results/analysis/waits.h"
#include "results/detectors/detector.h"

namespace deadrank::results::detectors {

using namespace analysis;

Findings test_failure(const Evidence& evidence) {
    const Event* first = nullptr;
    std::vector<Rank> ranks;
    for (const Event* event : evidence.each<TestResult>()) {
        if (event->as<TestResult>()->passed != 0) continue;
        if (!first) first = event;
        ranks.push_back(event->rank);
    }
    if (!first) return {};
    const Lives& lives = evidence.facts<Lives>();
    const Standstill stuck = Waits(evidence, lives.attempt_at(first->at), first->at - Time{1}).standstill();
    const bool hung = stuck.any && !stuck.culprits.empty();
    const auto* test = first->as<TestResult>();
    Finding finding{.symptom = "ci_or_test_failure",
                    .blame = blame_ranks(lives, hung ? stuck.culprits : ranks),
                    .at = first->at,
                    .says = fmt::format("test {} failed: {}{}", evidence.text(test->name),
                                        evidence.text(test->problem), hung ? "; " + stuck.why : ""),
                    .causes = {"gradient_scaling_or_reduction_error", "communication_order_divergence"}};
    if (hung) finding.causes = {"communication_order_divergence", "rank_divergent_control_flow"};
    finding.blame.component = evidence.text(test->name);
    return {finding};
}

extern const DetectorRow test_failure_row{
    .name = "test_failure", .reports = {"ci_or_test_failure"}, .examine = test_failure};

}  // namespace deadrank::results::detectors
