// results/judging/judge.cpp — The expectation and the truth on one side, the findings on the other; the worst
// of both verdicts wins.
#include "results/judging/judge.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "results/judging/alarm.h"
#include "results/text/words.h"

namespace deadrank::results {

namespace {

std::string list_of(const std::vector<Finding>& findings, const std::vector<std::size_t>& which) {
    std::string text;
    for (const std::size_t i : which) {
        if (!text.empty()) text += "; ";
        text += fmt::format("{} about {}", findings[i].symptom, blame_text(findings[i].blame));
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
    const auto broken = std::find_if(findings.begin(), findings.end(), [](const Finding& finding) {
        return finding.symptom == detector_crashed;
    });
    if (broken == findings.end()) return false;
    set(judgement, Verdict::unknown, Outcome::crashed,
        fmt::format("the detector {} crashed: {}", broken->detector, broken->says));
    return true;
}

std::string why_never_applied(const Truth& truth) {
    const Mark* refusal = truth.refusal();
    return refusal ? refusal->says : "no moment of the run matched its `when`";
}

// The job's own reaction, judged after the alarm: it can only make a verdict worse.
void judge_reaction(Judgement& judgement, const scenarios::Expectation& expect) {
    const Grade& job = judgement.job;
    if (judgement.verdict != Verdict::pass || reaction_meets(expect.reaction, job)) return;
    if (job.reaction == Reaction::hung && !job.untold.empty()) {
        judgement.verdict = Verdict::unknown;
        judgement.reason += fmt::format("; but whether the job hung is not known: {}", job.untold);
        return;
    }
    judgement.verdict = Verdict::fail;
    judgement.reason +=
        fmt::format("; but {} where it should {}", reaction_text(job.reaction), wanted_text(expect.reaction));
    if (job.reaction == Reaction::misleading_error) {
        judgement.reason +=
            fmt::format(" (no error text names {})", blame_text(judgement.culprit, expect.blames));
    } else if (job.reaction == Reaction::wrong_rank || job.reaction == Reaction::silent_wrong_result) {
        judgement.reason += fmt::format(" ({})", job.says);
    }
}

// How soon the job was well again, or at its end, where the scenario bounds that.
void judge_recovery(Judgement& judgement, const scenarios::Expectation& expect, const Evidence& evidence) {
    if (judgement.verdict != Verdict::pass || expect.recovers_within < 0) return;
    const Time due = judgement.fault_at + Time{expect.recovers_within};
    const Time settled = settled_at(evidence);
    if (settled <= due) return;
    judgement.verdict = Verdict::fail;
    const std::string took = settled == never
                                 ? "it never was"
                                 : fmt::format("it took {}", duration_text(settled - judgement.fault_at));
    judgement.reason =
        fmt::format("{}; but the job should be well again or at its end {} after the fault: {}",
                    judgement.reason, duration_text(Time{expect.recovers_within}), took);
}

// A job that ends cleanly because of the fault may be reported, under whatever symptom, as long as the blame
// is right.
std::vector<std::size_t> about_others(const scenarios::Expectation& expect, const Blame& culprit,
                                      const std::vector<Finding>& findings) {
    std::vector<std::string> fields = expect.blames;
    std::erase_if(fields, [](const std::string& field) { return field == "step" || field == "collective"; });
    std::vector<std::size_t> others;
    for (std::size_t i = 0; i < findings.size(); ++i) {
        if (!differing_fields(fields, findings[i].blame, culprit).empty()) others.push_back(i);
    }
    return others;
}

std::string unfinished_ranks(const Truth& truth) {
    std::vector<std::int32_t> ranks;
    for (std::size_t rank = 0; rank < truth.ends.size(); ++rank) {
        if (truth.ends[rank] != RankEnd::finished) ranks.push_back(static_cast<std::int32_t>(rank));
    }
    return ranks.empty() ? "no rank was seen to end"
                         : fmt::format("rank {} did not finish", ranges_text(ranks));
}

void judge_silence(Judgement& judgement, const Truth& truth) {
    if (crashed(judgement)) return;
    if (!judgement.findings.empty()) {
        std::vector<std::size_t> all(judgement.findings.size());
        for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
        judgement.noticed_at = judgement.findings.front().at;
        set(judgement, Verdict::fail, Outcome::false_alarm,
            "nothing was wrong, yet it rang: " + list_of(judgement.findings, all));
    } else if (truth.ends.empty() || !truth.completed()) {
        set(judgement, Verdict::fail, Outcome::unfinished, "quiet, but " + unfinished_ranks(truth));
    } else {
        set(judgement, Verdict::pass, Outcome::quiet, "quiet, and every rank finished");
    }
}

void judge_fault(Judgement& judgement, const scenarios::Expectation& expect, const Record& record) {
    if (!record.truth.applied()) {
        set(judgement, Verdict::unknown, Outcome::not_applied,
            "the fault never happened: " + why_never_applied(record.truth));
        return;
    }
    if (crashed(judgement)) return;
    const Alarm alarm = weigh_alarm(expect, judgement.culprit, judgement.fault_at, judgement.findings);
    judgement.answer = alarm.answer;
    if (const Finding* answer = judgement.answering()) judgement.noticed_at = answer->at;
    set(judgement, alarm.verdict, alarm.outcome, alarm.reason);
    judge_reaction(judgement, expect);
    judge_recovery(judgement, expect, record.evidence);
}

void judge_healed(Judgement& judgement, const scenarios::Expectation& expect, const Truth& truth) {
    const Reaction reaction = judgement.job.reaction;
    if (!truth.applied() || (!ended_with_error(reaction) && reaction != Reaction::restarted)) {
        judge_silence(judgement, truth);
        return;
    }
    if (crashed(judgement)) return;
    const std::vector<std::size_t> others = about_others(expect, judgement.culprit, judgement.findings);
    if (!others.empty()) {
        set(judgement, Verdict::fail, Outcome::false_alarm,
            "healed, yet it rang: " + list_of(judgement.findings, others));
    } else if (!is_good(reaction)) {
        set(judgement, Verdict::fail, Outcome::unfinished,
            "the fix made the job end, but no error text names " + blame_text(judgement.culprit));
    } else {
        set(judgement, Verdict::pass, Outcome::quiet,
            fmt::format("the fault stayed, and the job reacted well: {}", reaction_text(reaction)));
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
        judgement.culprit = culprit_of(plan.expect, record.truth);
    judgement.job = grade(record, plan.variant == Variant::fault ? control : nullptr, judgement.culprit);
    if (record.truth.interrupted) {
        set(judgement, Verdict::unknown, Outcome::unjudged, "it was stopped before it was done");
        return judgement;
    }
    if (plan.variant == Variant::fault) judge_fault(judgement, plan.expect, record);
    if (plan.variant == Variant::control) judge_silence(judgement, record.truth);
    if (plan.variant == Variant::healed) judge_healed(judgement, plan.expect, record.truth);
    // Part of the bug never happened: nothing that followed proves anything.
    if (const Mark* refusal = record.truth.refusal(); refusal && judgement.verdict != Verdict::unknown)
        set(judgement, Verdict::unknown, Outcome::not_applied, "a fault was refused: " + refusal->says);
    return judgement;
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
