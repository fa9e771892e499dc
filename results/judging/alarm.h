// results/judging/alarm.h — Weighs the alarm that was due: which finding answers the expectation, and with
// what outcome.
#pragma once

#include <string>
#include <vector>

#include "results/judging/judge.h"

namespace deadrank::results {

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

// The same for a run whose faults are known. A fault with `provokes` may end a process: that this process
// raised an error or crashed, said within a second of it, is true and no false alarm, but no answer either.
// The bug's own symptom and the expected one are always weighed.
Alarm weigh_alarm(const scenarios::Plan& plan, const Truth& truth, const Blame& culprit,
                  const std::vector<Finding>& findings);

// Indices of the findings of a control or healed run that must not be there. What is said of a process that
// a kept fault with `provokes` ends is left out here too, as the fix cannot take it away. What others do for
// want of that process the fix has to take away.
std::vector<std::size_t> list_false_alarms(const std::vector<Finding>& findings, const scenarios::Plan& plan,
                                           const Truth& truth);

// The fields of `expect.blames` in which the two differ. Ranks and nodes are compared as sets, a step
// exactly.
scenarios::BlameFields differing_fields(const scenarios::BlameFields& fields, const Blame& said,
                                        const Blame& meant);

// Indices of the findings whose symptom is neither the expected one nor in `also`.
std::vector<std::size_t> list_unexpected_findings(const scenarios::Expectation& expect,
                                                  const std::vector<Finding>& findings);

}  // namespace deadrank::results
