// results/judging/alarm.h — The alarm that was due, weighed: which finding answers the expectation, and what
// became of it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "results/judging/judge.h"

namespace deadrank::results {

// The symptom that results/detectors/detector.h gives to a detector that threw.
inline constexpr std::string_view detector_crashed = "detector_crashed";

struct Alarm {
    Verdict verdict = Verdict::fail;
    Outcome outcome = Outcome::silent;
    std::string reason;
    int answer = -1;  // index of the finding meant by `reason`
};

Alarm weigh_alarm(const scenarios::Expectation& expect, const Blame& culprit, Time fault_at,
                  const std::vector<Finding>& findings);

// The truth's blame, where the scenario does not state ranks or step itself.
Blame culprit_of(const scenarios::Expectation& expect, const Truth& truth);

// The fields of `expect.blames` in which the two differ. Ranks and nodes are compared as sets, a step
// exactly.
std::vector<std::string> differing_fields(const std::vector<std::string>& fields, const Blame& said,
                                          const Blame& meant);

// Indices of the findings that are neither the expected symptom nor in `also`.
std::vector<std::size_t> not_allowed(const scenarios::Expectation& expect,
                                     const std::vector<Finding>& findings);

}  // namespace deadrank::results
