// results/judging/judge.cpp — Compares the findings with the expectation and the truth, then the job's
// reaction; the worst verdict wins.
#include "results/judging/judge.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "results/judging/alarm.h"
#include "results/judging/control_comparison.h"
#include "results/record/words.h"

namespace deadrank::results {

namespace {

std::string list_of(const std::vector<Finding>& findings, const std::vector<std::size_t>& which) {
    std::string text;
    for (const std::size_t i : which) {
        if (!text.empty()) text += "; ";
        text += fmt::format("{} about {}: {}", findings[i].symptom, blame_text(findings[i].blame),
                            findings[i].says);
    }
    return text;
}

void set(Judgement& judgement, Verdict verdict, Outcome outcome, std::string reason) {
    judgement.verdict = verdict;
    judgement.outcome = outcome;
    judgement.reason = std::move(reason);
}

bool crashed(Judgement& judgement) {
    const auto& findings = judgement.findings;
    const auto broken = std::find_if(findings.begin(), findings.end(),
                                     [](const Finding& finding) { return finding.detector_failed; });
    if (broken == findings.end()) return false;
    set(judgement, Verdict::unknown, Outcome::crashed,
        fmt::format("the detector {} crashed: {}", broken->detector, broken->says));
    return true;
}

std::string why_never_applied(const Truth& truth) {
    if (const Mark* refusal = truth.refusal()) return refusal->says;
    const Mark* idle = truth.idle();
    return idle ? idle->says : "its `when` was never met";
}

// A fault that never happened or had no effect; empty if each did its part. If the backend does not mark idle
// faults, a fault without any mark counts as one.
std::string idle_fault(const scenarios::Plan& plan, const Truth& truth) {
    if (const Mark* idle = truth.idle())
        return plan.faults.size() < 2 ? idle->says : fmt::format("fault {}: {}", idle->fault + 1, idle->says);
    for (std::size_t fault = 0; fault < plan.faults.size(); ++fault) {
        const bool marked = std::any_of(truth.marks.begin(), truth.marks.end(), [&](const Mark& mark) {
            return mark.fault == static_cast<std::int32_t>(fault);
        });
        if (!marked)
            return fmt::format("fault {}: the `when` of {} was never met", fault + 1,
                               plan.faults[fault].kind);
    }
    return {};
}

// The job's own reaction, judged after the alarm: it can only make a verdict worse.
void judge_reaction(Judgement& judgement, const scenarios::Expectation& expect) {
    const Grade& job = judgement.job;
    if (judgement.verdict != Verdict::pass || meets_reaction(expect.reaction, job)) return;
    if (job.reaction == Reaction::hung && !job.untold.empty()) {
        judgement.verdict = Verdict::unknown;
        judgement.reason += fmt::format("; but whether the job hung is not known: {}", job.untold);
        return;
    }
    judgement.verdict = Verdict::fail;
    judgement.reason +=
        fmt::format("; but {} where it should {}", reaction_text(job.reaction), wanted_text(expect.reaction));
    if (job.reaction == Reaction::misleading_error) {
        const std::string culprit = blame_text(judgement.culprit, expect.blames);
        const bool anyone = culprit != blame_text({}, expect.blames);
        judgement.reason += fmt::format(" (no error text names {})", anyone ? culprit : "the cause");
    } else if (job.reaction == Reaction::wrong_rank || job.reaction == Reaction::silent_wrong_result ||
               job.reaction == Reaction::not_checked) {
        judgement.reason += fmt::format(" ({})", job.says);
    }
}

// How soon the job had recovered or ended, if the scenario bounds that.
void judge_recovery(Judgement& judgement, const scenarios::Expectation& expect, const Evidence& evidence) {
    if (judgement.verdict != Verdict::pass || expect.recovers_within < 0) return;
    const Time due = judgement.fault_at + Time{expect.recovers_within};
    const Time settled = find_settled_time(evidence);
    if (settled <= due) return;
    judgement.verdict = Verdict::fail;
    const std::string took = settled == never
                                 ? "it never was"
                                 : fmt::format("it took {}", duration_text(settled - judgement.fault_at));
    judgement.reason =
        fmt::format("{}; but the job should have recovered or ended within {} of the fault: {}",
                    judgement.reason, duration_text(Time{expect.recovers_within}), took);
}

std::string unfinished_ranks(const Truth& truth) {
    std::vector<std::int32_t> ranks;
    for (std::size_t rank = 0; rank < truth.ends.size(); ++rank) {
        if (truth.ends[rank] != RankEnd::finished) ranks.push_back(static_cast<std::int32_t>(rank));
    }
    return ranks.empty() ? "no rank was seen to end"
                         : fmt::format("rank {} did not finish", ranges_text(ranks));
}

void judge_silence(Judgement& judgement, const scenarios::Plan& plan, const Truth& truth) {
    if (crashed(judgement)) return;
    const auto alarms = list_false_alarms(judgement.findings, plan, truth);
    if (!alarms.empty()) {
        judgement.noticed_at = judgement.findings[alarms.front()].at;
        set(judgement, Verdict::fail, Outcome::false_alarm,
            "nothing was wrong, but it raised an alarm: " + list_of(judgement.findings, alarms));
    } else if (truth.ends.empty() || !truth.completed()) {
        set(judgement, Verdict::fail, Outcome::unfinished, "quiet, but " + unfinished_ranks(truth));
    } else {
        set(judgement, Verdict::pass, Outcome::quiet, "quiet, and every rank finished");
    }
}

void judge_fault(Judgement& judgement, const scenarios::Plan& plan, const Record& record) {
    const scenarios::Expectation& expect = plan.expect;
    if (!record.truth.applied()) {
        set(judgement, Verdict::unknown, Outcome::not_applied,
            "the fault never happened: " + why_never_applied(record.truth));
        return;
    }
    if (crashed(judgement)) return;
    const Alarm alarm = weigh_alarm(plan, record.truth, judgement.culprit, judgement.findings);
    judgement.answer = alarm.answer;
    if (const Finding* answer = judgement.answering()) judgement.noticed_at = answer->at;
    set(judgement, alarm.verdict, alarm.outcome, alarm.reason);
    judge_reaction(judgement, expect);
    judge_recovery(judgement, expect, record.evidence);
}

// No finding, and the end that it should have: by itself, or with the error that the fix is meant to give.
void judge_quiet_heal(Judgement& judgement, const scenarios::Plan& plan, const Record& record) {
    const scenarios::Expectation& expect = plan.expect;
    judge_silence(judgement, plan, record.truth);
    const bool may_end_with_error = expect.reaction == WantedReaction::clear_error ||
                                    expect.reaction == WantedReaction::refuse_to_start ||
                                    expect.reaction == WantedReaction::error;
    if (may_end_with_error && judgement.outcome == Outcome::unfinished)
        set(judgement, Verdict::pass, Outcome::quiet, "quiet");
    judge_reaction(judgement, expect);
    judge_recovery(judgement, expect, record.evidence);
}

void judge_healed(Judgement& judgement, const scenarios::Plan& plan, const Record& record) {
    if (plan.expect.silent()) {
        if (!crashed(judgement)) judge_quiet_heal(judgement, plan, record);
    } else {
        judge_fault(judgement, plan, record);
    }
}

// The fix must absorb the faults that it leaves in place, so at least one of them must have happened.
void judge_kept_faults(Judgement& judgement, const Truth& truth) {
    for (const Mark& mark : truth.marks) {
        if (mark.kind != MarkKind::missed || truth.applied()) continue;
        set(judgement, Verdict::unknown, Outcome::not_applied,
            "no fault that the fix leaves in place happened: " + mark.says);
        return;
    }
}

// A fault that did not happen proves nothing, and neither does one that changed nothing.
void judge_effect(Judgement& judgement, const scenarios::Plan& plan, const Record& record,
                  const Evidence* control) {
    if (const std::string idle = idle_fault(plan, record.truth); !idle.empty()) {
        set(judgement, Verdict::unknown, Outcome::not_applied, idle);
    } else if (control && same_events(record.evidence, *control)) {
        set(judgement, Verdict::unknown, Outcome::not_applied,
            "the fault had no effect: the run equals its control, event for event");
    } else if (control && judgement.outcome == Outcome::silent && judgement.findings.empty()) {
        if (std::string same = explain_missing_effect(record.evidence, *control); !same.empty())
            set(judgement, Verdict::unknown, Outcome::not_applied, std::move(same));
    }
}

}  // namespace

Judgement judge(const scenarios::Plan& plan, const Record& record, const std::vector<Finding>& findings,
                const Evidence* control) {
    using scenarios::Variant;
    Judgement judgement;
    judgement.findings = findings;
    judgement.fault_at = record.truth.first_fault();
    if (plan.variant == Variant::fault || record.truth.applied())
        judgement.culprit = culprit_of(plan.expect, record);
    judgement.job = grade(record, plan.variant == Variant::fault ? control : nullptr, judgement.culprit,
                          plan.bug.per_rank);
    if (record.truth.interrupted) {
        set(judgement, Verdict::unknown, Outcome::unjudged, "it was stopped before it was done");
        return judgement;
    }
    if (plan.variant == Variant::fault) judge_fault(judgement, plan, record);
    if (plan.variant == Variant::control) judge_silence(judgement, plan, record.truth);
    if (plan.variant == Variant::healed) judge_healed(judgement, plan, record);
    // Part of the bug never happened: whatever followed proves nothing.
    if (judgement.verdict == Verdict::unknown) return judgement;
    if (const Mark* refusal = record.truth.refusal())
        set(judgement, Verdict::unknown, Outcome::not_applied, "a fault was refused: " + refusal->says);
    else if (plan.variant == Variant::fault)
        judge_effect(judgement, plan, record, control);
    else if (plan.variant == Variant::healed)
        judge_kept_faults(judgement, record.truth);
    return judgement;
}

void compare_with_fault_run(Judgement& healed, const scenarios::Plan& plan, const Record& faulty,
                            const std::vector<Finding>& findings) {
    if (healed.verdict != Verdict::pass || !faulty.truth.took_place()) return;
    const Judgement without = judge(plan, faulty, findings);
    if (without.verdict != Verdict::pass) return;
    const bool quiet = plan.expect.silent() && findings.empty();
    set(healed, Verdict::fail, Outcome::heals_nothing,
        quiet
            ? "the fix proves nothing: without it no alarm rings either and the job ends well, so that a "
              "quiet "
              "healed run is no evidence"
            : fmt::format("the fix proves nothing: the run without it already does all that is asked of the "
                          "healed run ({})",
                          without.reason));
}

void compare_with_control(Judgement& healed, const Evidence& run, const Evidence& control) {
    if (healed.verdict != Verdict::pass || !same_events(run, control)) return;
    set(healed, Verdict::pass, Outcome::as_control,
        "the run is its control again, event for event: as it should be, and no proof of its own");
}

Judgement unjudged(std::string reason) {
    Judgement judgement;
    set(judgement, Verdict::unknown, Outcome::unjudged, std::move(reason));
    return judgement;
}

Judgement unjudged(std::string reason, const Record& record, const std::vector<Finding>& findings) {
    Judgement judgement = unjudged(std::move(reason));
    judgement.findings = findings;
    judgement.job = grade(record, nullptr);
    return judgement;
}

}  // namespace deadrank::results
