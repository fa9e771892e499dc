// results/judging/judge.h — Was the right thing noticed, about the right rank, in time, and did the job react
// as it should? Pass, fail or unknown; the worst wins. Whatever kept us from judging is a reason for unknown,
// never a pass.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "results/judging/reaction.h"
#include "results/record/finding.h"
#include "results/record/record.h"
#include "scenarios/model/enum_words.h"
#include "scenarios/model/plan.h"

namespace deadrank::results {

enum class Verdict { pass, unknown, fail };  // in order of badness
constexpr auto enum_words(Verdict) { return std::to_array<std::string_view>({"pass", "unknown", "fail"}); }

// What became of the alarm that was due.
enum class Outcome {
    caught,
    wrong_rank,
    wrong_class,
    late,
    silent,
    crashed,
    noisy,
    false_alarm,
    dead_metric,
    sticky,
    pending_only,
    not_applied,    // the fault never happened
    as_unseen,      // nothing could show it, and nothing did
    quiet,          // control or healed run without findings
    unfinished,     // control or healed run that did not reach its end
    heals_nothing,  // the healed run is as it should be, and so is the faulty one
    as_control,     // the healed run is its control, event for event: quiet, and no proof
    unjudged,       // nothing to judge against, or half a run
};
std::string_view name_of(Verdict);
std::string_view name_of(Outcome);
Verdict worse(Verdict, Verdict);

struct Judgement {
    Verdict verdict = Verdict::unknown;
    Outcome outcome = Outcome::silent;
    Grade job;                      // how the job itself reacted
    std::string reason;             // one sentence: which rank was blamed instead, how late, what else rang
    std::vector<Finding> findings;  // all of them
    Time fault_at = never;
    Time noticed_at = never;
    int answer = -1;  // index in `findings` of the one that answers the expectation best; -1 = none
    Blame culprit;    // who it was, as the truth or the scenario says

    bool operator==(const Judgement&) const = default;

    const Finding* answering() const {
        return answer < 0 ? nullptr : &findings[static_cast<std::size_t>(answer)];
    }
};

// The one verdict, for a run that was just played or is read from files. The plan's variant decides what is
// asked:
// - fault: the alarm that the plan expects, and the reaction. `control` is the evidence of the same run
//   without the fault: a wrong result shows only beside it.
// - control: no finding, and every rank finished.
// - healed: what [heal.expect] says: no finding and every rank finished, or the alarm and the reaction that
//   remain because the fix does not remove the fault.
// Unknown, if the run was interrupted, its fault never happened, or a lever of the fault was refused.
Judgement judge(const scenarios::Plan& plan, const Record& record, const std::vector<Finding>& findings,
                const Evidence* control = nullptr);

// A fix proves something only if the run without it does worse: a healed run that passes fails here if the
// faulty run, judged by the healed plan, passes as well. Nothing changes otherwise.
void compare_with_fault_run(Judgement& healed, const scenarios::Plan& plan, const Record& faulty,
                            const std::vector<Finding>& findings);

// Compares with the control: a healed run that equals its control passes, and is marked so.
void compare_with_control(Judgement& healed, const Evidence& run, const Evidence& control);

// For a run that cannot be judged: it was not played, or its files lack the plan or the truth.
Judgement unjudged(std::string reason);
Judgement unjudged(std::string reason, const Record& record, const std::vector<Finding>& findings);

}  // namespace deadrank::results
