// results/judge.h — Was the right thing noticed, about the right rank, in time, and did the job react as it should?
// Three values: pass, fail, unknown; the worst wins. What kept us from knowing is a reason, never a pass.
#pragma once

#include <string>
#include <vector>

#include "results/detector.h"
#include "results/truth.h"
#include "scenarios/scenario.h"

namespace deadrank::results {

enum class Verdict { pass, unknown, fail };  // in order of badness

// What became of the alarm that was due.
enum class Outcome {
    caught, wrong_rank, wrong_class, late, silent, crashed, noisy, false_alarm, dead_metric, sticky, pending_only,
    not_applied,  // the fault never happened
    as_unseen,    // nothing could show it, and nothing did
    quiet,        // control or healed run without findings
};
std::string_view name_of(Verdict);
std::string_view name_of(Outcome);

// How the job itself reacted, read from evidence alone.
enum class Reaction {
    completed, warned_and_completed, clear_error, misleading_error, refused_to_start, restarted, hung, silent_wrong_result,
};
std::string_view name_of(Reaction);

struct Judgement {
    Verdict verdict = Verdict::unknown;
    Outcome outcome = Outcome::silent;
    Reaction reaction = Reaction::completed;
    std::string reason;             // one sentence: which rank was blamed instead, how late, what else rang
    std::vector<Finding> findings;  // all of them
    Time fault_at = never;
    Time noticed_at = never;
};

Judgement judge(const scenarios::Expectation& expect, const Truth& truth, const Evidence& evidence,
                const std::vector<Finding>& findings);

// For control and healed runs: no finding, every rank finished.
Judgement judge_quiet(const Truth& truth, const Evidence& evidence, const std::vector<Finding>& findings);

Reaction reaction_of(const Evidence& evidence);

}  // namespace deadrank::results
