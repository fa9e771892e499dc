// results/judging/judge.h — Was the right thing noticed, about the right rank, in time, and did the job react
// as it should? Three values: pass, fail, unknown; the worst wins. What kept us from knowing is a reason,
// never a pass.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "results/judging/reaction.h"
#include "results/record/evidence.h"
#include "results/record/finding.h"
#include "results/record/truth.h"
#include "scenarios/model/scenario.h"

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
    not_applied,  // the fault never happened
    as_unseen,    // nothing could show it, and nothing did
    quiet,        // control or healed run without findings
    unfinished,   // control or healed run that did not come to its end
    unjudged,     // there was no truth to judge against
};
std::string_view name_of(Verdict);
std::string_view name_of(Outcome);
Verdict worse(Verdict, Verdict);

struct Judgement {
    Verdict verdict = Verdict::unknown;
    Outcome outcome = Outcome::silent;
    Reaction reaction = Reaction::completed;
    std::string reason;             // one sentence: which rank was blamed instead, how late, what else rang
    std::vector<Finding> findings;  // all of them
    Time fault_at = never;
    Time noticed_at = never;
    int answer = -1;  // index in `findings` of the one that answers the expectation best; -1 = none
    Blame culprit;    // who it was, as the truth or the scenario says

    const Finding* answering() const {
        return answer < 0 ? nullptr : &findings[static_cast<std::size_t>(answer)];
    }
};

// `control`: the same run without the fault. Only beside it can a wrong result be told from a right one.
Judgement judge(const scenarios::Expectation& expect, const Truth& truth, const Evidence& evidence,
                const std::vector<Finding>& findings, const Evidence* control = nullptr);

// For control and healed runs: no finding, every rank finished.
Judgement judge_quiet(const Truth& truth, const Evidence& evidence, const std::vector<Finding>& findings);

// For a healed run. Where the fix removes the fault it must be quiet; where the fault stays, the job must
// react as it should: end cleanly with a clear error, refuse, restart, or complete.
Judgement judge_healed(const scenarios::Expectation& expect, const Truth& truth, const Evidence& evidence,
                       const std::vector<Finding>& findings);

}  // namespace deadrank::results
