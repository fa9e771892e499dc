// results/judging/judge.h — Was the right thing noticed, about the right rank, in time, and did the job react
// as it should? Three values: pass, fail, unknown; the worst wins. What kept us from knowing is a reason,
// never a pass.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "results/judging/reaction.h"
#include "results/record/finding.h"
#include "results/record/record.h"
#include "scenarios/model/plan.h"

namespace deadrank::results {

enum class Verdict { pass, unknown, fail };  // in order of badness

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
    unfinished,     // control or healed run that did not come to its end
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

// The one verdict, for whoever played a run or reads it from files. The plan's variant says what is asked:
// - fault: the alarm that the plan expects, and the reaction. `control` is the evidence of the same run
//   without the fault: only beside it can a wrong result be told from a right one.
// - control: no finding, and every rank finished.
// - healed: what [heal.expect] says: no finding and every rank finished, or the alarm and the reaction that
//   are left where the fix does not take the fault away.
// A run that was interrupted, whose fault never happened, or of whose fault a lever was refused proves
// nothing: unknown.
Judgement judge(const scenarios::Plan& plan, const Record& record, const std::vector<Finding>& findings,
                const Evidence* control = nullptr);

// A fix proves something only where the run without it would not do: a healed run that passes fails all the
// same when the faulty run, asked the healed plan's question, passes as well. Nothing changes otherwise.
void hold_against_the_fault(Judgement& healed, const scenarios::Plan& plan, const Record& faulty,
                            const std::vector<Finding>& findings);

// Beside its control: a healed run that is the control again passes, and is called so.
void hold_against_the_control(Judgement& healed, const Evidence& run, const Evidence& control);

// Of a run that cannot be judged: it was not played, or its files lack the plan or the truth.
Judgement unjudged(std::string reason);
Judgement unjudged(std::string reason, const Record& record, const std::vector<Finding>& findings);

}  // namespace deadrank::results
