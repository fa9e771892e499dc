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
    for (const Mark& mark : truth.marks) {
        if (mark.kind == "fault.refused") return mark.says;
    }
    return "no moment of the run matched its `when`";
}

// The job's own reaction, judged after the alarm: it can only make a verdict worse.
void judge_reaction(Judgement& judgement, const scenarios::Expectation& expect, const Evidence& evidence) {
    const bool named = error_names(evidence, judgement.culprit);
    if (judgement.reaction == Reaction::clear_error && !named)
        judgement.reaction = Reaction::misleading_error;
    if (judgement.verdict != Verdict::pass || reaction_meets(expect.reaction, judgement.reaction)) return;
    judgement.verdict = Verdict::fail;
    judgement.reason = fmt::format("{}; but {} where it should {}", judgement.reason,
                                   reaction_text(judgement.reaction), wanted_text(expect.reaction));
    if (judgement.reaction == Reaction::misleading_error) {
        judgement.reason +=
            fmt::format(" (no error text names {})", blame_text(judgement.culprit, expect.blames));
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

Judgement begun(const Truth& truth, const std::vector<Finding>& findings, Reaction reaction) {
    Judgement judgement;
    judgement.findings = findings;
    judgement.reaction = reaction;
    judgement.fault_at = truth.first_fault();
    return judgement;
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

}  // namespace

Judgement judge(const scenarios::Expectation& expect, const Truth& truth, const Evidence& evidence,
                const std::vector<Finding>& findings, const Evidence* control) {
    Judgement judgement = begun(truth, findings, reaction_of(evidence, control));
    judgement.culprit = culprit_of(expect, truth);
    if (!truth.applied()) {
        set(judgement, Verdict::unknown, Outcome::not_applied,
            "the fault never happened: " + why_never_applied(truth));
        return judgement;
    }
    if (crashed(judgement)) return judgement;
    const Alarm alarm = weigh_alarm(expect, judgement.culprit, judgement.fault_at, findings);
    judgement.answer = alarm.answer;
    if (const Finding* answer = judgement.answering()) judgement.noticed_at = answer->at;
    set(judgement, alarm.verdict, alarm.outcome, alarm.reason);
    judge_reaction(judgement, expect, evidence);
    judge_recovery(judgement, expect, evidence);
    return judgement;
}

Judgement judge_quiet(const Truth& truth, const Evidence& evidence, const std::vector<Finding>& findings) {
    Judgement judgement = begun(truth, findings, reaction_of(evidence));
    judge_silence(judgement, truth);
    return judgement;
}

Judgement judge_healed(const scenarios::Expectation& expect, const Truth& truth, const Evidence& evidence,
                       const std::vector<Finding>& findings) {
    Judgement judgement = begun(truth, findings, reaction_of(evidence));
    const bool clean_end = judgement.reaction == Reaction::clear_error ||
                           judgement.reaction == Reaction::refused_to_start ||
                           judgement.reaction == Reaction::restarted;
    if (!truth.applied() || !clean_end) {
        judge_silence(judgement, truth);
        return judgement;
    }
    judgement.culprit = culprit_of(expect, truth);
    if (crashed(judgement)) return judgement;
    const std::vector<std::size_t> others = about_others(expect, judgement.culprit, findings);
    if (!others.empty()) {
        set(judgement, Verdict::fail, Outcome::false_alarm,
            "healed, yet it rang: " + list_of(findings, others));
    } else if (judgement.reaction != Reaction::restarted && !error_names(evidence, judgement.culprit)) {
        judgement.reaction = Reaction::misleading_error;
        set(judgement, Verdict::fail, Outcome::unfinished,
            "the fix made the job end, but no error text names " + blame_text(judgement.culprit));
    } else {
        set(judgement, Verdict::pass, Outcome::quiet,
            fmt::format("the fault stayed, and the job reacted well: {}", reaction_text(judgement.reaction)));
    }
    return judgement;
}

}  // namespace deadrank::results
