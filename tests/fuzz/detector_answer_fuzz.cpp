// tests/fuzz/detector_answer_fuzz.cpp — Promise: the answer of a user's detector is refused with words, or
// names no rank, time or symptom beyond its limits.
#include <algorithm>

#include "results/external/answer.h"
#include "results/external/command_detector.h"
#include "tests/fuzz/target.h"

FUZZ_TARGET(detector_answer) {
    namespace external = results::external;
    const external::Limits limits{.symptoms = {"collective_deadlock_hang", "straggler_step_time_skew"},
                                  .world_size = 8,
                                  .observed_until = results::Time{1'000'000'000}};
    if (const auto command = external::parse_command(text); !command) refused(command);
    const auto answer = external::read_answer(text, limits);
    if (!answer) return refused(answer);
    for (const results::Finding& finding : answer->findings) {
        CHECK(std::ranges::find(limits.symptoms, finding.symptom) != limits.symptoms.end());
        CHECK(finding.at <= limits.observed_until);
        for (const results::Rank rank : finding.blame.ranks) CHECK(rank >= 0 && rank < limits.world_size);
    }
    return !answer->findings.empty();
}
