// results/judging/alarm.h — Weighs the alarm that was due: which finding answers the expectation, and with
// what outcome.
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

// The truth's blame, except for ranks, with their nodes, or a step that the scenario states itself.
Blame culprit_of(const scenarios::Expectation& expect, const Record& record);

// Indices of the findings of a control or healed run that must not be there. A healed run may keep a fault
// with `provokes` that ends a process: that this process raised an error or crashed, said within a second of
// it, is true, and nothing that the fix takes away. What others do for want of that process the fix has to
// take away, and the bug's own symptom.
std::vector<std::size_t> false_alarms(const std::vector<Finding>& findings, const scenarios::Plan& plan,
                                      const Truth& truth);

// The fields of `expect.blames` in which the two differ. Ranks and nodes are compared as sets, a step
// exactly.
std::vector<std::string> differing_fields(const std::vector<std::string>& fields, const Blame& said,
                                          const Blame& meant);

// Indices of the findings whose symptom is neither the expected one nor in `also`.
std::vector<std::size_t> not_allowed(const scenarios::Expectation& expect,
                                     const std::vector<Finding>& findings);

}  // namespace deadrank::results
