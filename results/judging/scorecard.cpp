// results/judging/scorecard.cpp — Only a finding in the faulty run can be right; any finding in a control or
// healed run is false.
#include "results/judging/scorecard.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "results/judging/alarm.h"
#include "results/record/words.h"

namespace deadrank::results {

namespace {

bool right_blame(const Case& one, const Finding& finding) {
    return differing_fields(one.expect.blames, finding.blame, one.fault->culprit).empty();
}

bool is_right(const Case& one, const Finding& finding) {
    if (has(one.expect.also, finding.symptom)) return true;
    return one.expect.is_answered_by(finding.symptom) && finding.at >= one.fault->fault_at &&
           right_blame(one, finding);
}

bool alarm_was_due(const Case& one) {
    return one.fault && one.fault->outcome != Outcome::not_applied &&
           one.fault->outcome != Outcome::crashed && one.fault->outcome != Outcome::unjudged &&
           one.fault->outcome != Outcome::as_unseen;
}

using Counts = std::function<bool(const Finding&)>;  // whose findings count in this row

void count_findings(ScoreRow& row, const Case& one, const Counts& counts) {
    const auto falsely = [&](const std::optional<Judgement>& run) {
        if (!run) return;
        ++row.quiet_due;
        if (run->verdict == Verdict::pass) ++row.quiet;
        if (run->outcome == Outcome::as_control) ++row.as_control;
        if (run->verdict != Verdict::pass)
            row.findings += std::count_if(run->findings.begin(), run->findings.end(), counts);
    };
    falsely(one.control);
    falsely(one.healed);
    if (!one.fault) return;
    for (const Finding& finding : one.fault->findings) {
        if (!counts(finding)) continue;
        ++row.findings;
        if (one.fault->outcome != Outcome::not_applied && is_right(one, finding)) ++row.right;
    }
}

void count_alarm(ScoreRow& row, const Case& one, const Counts& counts) {
    if (!alarm_was_due(one)) return;
    ++row.due;
    bool noticed = false;
    const Finding* named = nullptr;
    for (const Finding& finding : one.fault->findings) {
        if (!counts(finding) || !one.expect.is_answered_by(finding.symptom)) continue;
        noticed = true;
        if (is_right(one, finding) && (!named || finding.at < named->at)) named = &finding;
    }
    row.noticed += noticed ? 1 : 0;
    row.named += named ? 1 : 0;
    if (named) row.delays.push_back(named->at - one.fault->fault_at);
}

void count_case(ScoreRow& row, const Case& one, const Counts& counts) {
    ++row.cases;
    ++row.verdicts[one.verdict];
    if (one.fault) ++row.outcomes[one.fault->outcome];
    count_findings(row, one, counts);
    count_alarm(row, one, counts);
}

void finish(Scorecard& card) {
    for (ScoreRow& row : card.rows) std::sort(row.delays.begin(), row.delays.end());
    std::sort(card.total.delays.begin(), card.total.delays.end());
}

std::optional<double> share(std::size_t part, std::size_t whole) {
    if (whole == 0) return std::nullopt;
    return static_cast<double>(part) / static_cast<double>(whole);
}

bool anybody(const Finding&) { return true; }

}  // namespace

std::optional<double> ScoreRow::precision() const { return share(right, findings); }
std::optional<double> ScoreRow::recall() const { return share(noticed, due); }
std::optional<double> ScoreRow::localisation() const { return share(named, noticed); }
Time ScoreRow::median_delay() const { return delays.empty() ? never : delays[(delays.size() - 1) / 2]; }
Time ScoreRow::longest_delay() const { return delays.empty() ? never : delays.back(); }

Scorecard score(const std::vector<Case>& cases,
                const std::function<std::vector<std::string>(const Case&)>& names_of) {
    Scorecard card;
    card.total.name = "all";
    std::map<std::string, ScoreRow> rows;
    for (const Case& one : cases) {
        count_case(card.total, one, anybody);
        for (const std::string& name : names_of(one)) {
            rows[name].name = name;
            count_case(rows[name], one, anybody);
        }
    }
    for (auto& [name, row] : rows) card.rows.push_back(std::move(row));
    finish(card);
    return card;
}

Scorecard score_by_class(const std::vector<Case>& cases, const scenarios::Taxonomy& taxonomy) {
    const auto title = [](const scenarios::ProjectClass& kind) {
        return kind.name.substr(0, kind.name.find(" ("));
    };
    Scorecard card = score(cases, [&](const Case& one) {
        // A bug of two classes counts in the first, so that the rows add up to the total.
        std::vector<std::string> by_both, by_cause;
        for (const scenarios::ProjectClass& kind : taxonomy.classes) {
            if (!has(kind.causes, one.bug.cause)) continue;
            by_cause.push_back(title(kind));
            if (has(kind.symptoms, one.bug.symptom)) by_both.push_back(title(kind));
        }
        if (!by_both.empty()) return std::vector<std::string>{by_both.front()};
        return std::vector<std::string>{by_cause.empty() ? "other" : by_cause.front()};
    });
    // In the taxonomy's order, "other" last.
    const auto place = [&](const ScoreRow& row) {
        const auto& kinds = taxonomy.classes;
        return std::find_if(kinds.begin(), kinds.end(),
                            [&](const auto& kind) { return title(kind) == row.name; }) -
               kinds.begin();
    };
    std::stable_sort(card.rows.begin(), card.rows.end(),
                     [&](const ScoreRow& a, const ScoreRow& b) { return place(a) < place(b); });
    return card;
}

Scorecard score_by_symptom(const std::vector<Case>& cases) {
    return score(cases, [](const Case& one) { return std::vector<std::string>{one.bug.symptom}; });
}

Scorecard score_by_stage(const std::vector<Case>& cases) {
    return score(cases, [](const Case& one) { return std::vector<std::string>{one.bug.stage}; });
}

Scorecard score_by_detector(const std::vector<Case>& cases, const std::vector<DetectorWords>& detectors) {
    Scorecard card;
    card.total.name = "all";
    for (const Case& one : cases) count_case(card.total, one, anybody);
    for (const DetectorWords& detector : detectors) {
        ScoreRow row;
        row.name = detector.name;
        const Counts own = [&](const Finding& finding) { return finding.detector == detector.name; };
        for (const Case& one : cases) {
            count_findings(row, one, own);
            if (!has(detector.symptoms, one.expect.symptom)) continue;
            ++row.cases;
            ++row.verdicts[one.verdict];
            if (one.fault) ++row.outcomes[one.fault->outcome];
            count_alarm(row, one, own);
        }
        card.rows.push_back(std::move(row));
    }
    finish(card);
    return card;
}

std::string share_text(std::optional<double> share) {
    return share ? fmt::format("{} %", static_cast<int>(std::floor(*share * 100))) : "—";
}

}  // namespace deadrank::results
