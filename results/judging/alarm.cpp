// results/judging/alarm.cpp — The best answer first: right and in time, right but late, right class about
// somebody else.
#include "results/judging/alarm.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <utility>

#include "results/text/words.h"

namespace deadrank::results {

namespace {

using Fields = std::vector<std::string>;

template <class T>
bool same_set(std::vector<T> a, std::vector<T> b) {
    for (auto* list : {&a, &b}) {
        std::sort(list->begin(), list->end());
        list->erase(std::unique(list->begin(), list->end()), list->end());
    }
    return a == b;
}

bool same(std::string_view field, const Blame& said, const Blame& meant) {
    if (field == "rank") return same_set(said.ranks, meant.ranks);
    if (field == "node") return same_set(said.nodes, meant.nodes);
    if (field == "step") return said.step == meant.step;
    if (field == "variable") return said.variable == meant.variable;
    if (field == "component") return said.component == meant.component;
    if (field == "collective") return said.collective == meant.collective;
    if (field == "shard") return said.shard == meant.shard;
    return false;
}

bool is_set(std::string_view field, const Blame& blame) {
    static const Blame nobody;
    return !same(field, blame, nobody);
}

enum Fit { exact, too_late, too_early, other_blame, other_symptom };

struct Weighing {
    const scenarios::Expectation& expect;
    const Blame& culprit;
    Time fault_at;
    Time due;

    Fit fit(const Finding& finding) const {
        if (finding.symptom != expect.symptom) return other_symptom;
        if (!differing_fields(expect.blames, finding.blame, culprit).empty()) return other_blame;
        if (finding.at < fault_at) return too_early;
        return finding.at > due ? too_late : exact;
    }
};

std::string about(const Finding& finding) {
    return fmt::format("{} about {}", finding.symptom, blame_text(finding.blame));
}

std::string about(const std::vector<Finding>& findings, const std::vector<std::size_t>& which) {
    std::string text;
    for (const std::size_t i : which) text += (text.empty() ? "" : "; ") + about(findings[i]);
    return text;
}

// Fields in which the answer was wrong: "blamed rank 5; it was rank 3".
Alarm wrong_blame(const Weighing& weighing, const Finding& finding) {
    const Fields fields = differing_fields(weighing.expect.blames, finding.blame, weighing.culprit);
    return {.verdict = Verdict::fail,
            .outcome = Outcome::wrong_rank,
            .reason = fmt::format("{} blamed {}; it was {}", finding.detector,
                                  blame_text(finding.blame, fields), blame_text(weighing.culprit, fields))};
}

Alarm late(const Weighing& weighing, const Finding& finding) {
    return {.verdict = Verdict::fail,
            .outcome = Outcome::late,
            .reason = fmt::format("noticed {} after the fault, {} too late ({} were allowed)",
                                  duration_text(finding.at - weighing.fault_at),
                                  duration_text(finding.at - weighing.due),
                                  duration_text(weighing.due - weighing.fault_at))};
}

Alarm early(const Weighing& weighing, const Finding& finding) {
    return {.verdict = Verdict::fail,
            .outcome = Outcome::false_alarm,
            .reason = fmt::format("{} rang {} before anything had happened", finding.detector,
                                  duration_text(weighing.fault_at - finding.at))};
}

Alarm no_answer(const Weighing& weighing, const std::vector<Finding>& findings,
                const std::vector<std::size_t>& others) {
    const std::string& symptom = weighing.expect.symptom;
    const std::string who = blame_text(weighing.culprit, weighing.expect.blames);
    if (!others.empty()) {
        return {.verdict = Verdict::fail,
                .outcome = Outcome::wrong_class,
                .reason = fmt::format("{} about {} was due; said instead: {}", symptom, who,
                                      about(findings, others))};
    }
    return {.verdict = Verdict::fail,
            .outcome = Outcome::silent,
            .reason = findings.empty() ? fmt::format("nobody noticed; {} about {} was due", symptom, who)
                                       : fmt::format("{} about {} was due; only said: {}", symptom, who,
                                                     findings.front().symptom)};
}

// Right, in time, and alone? A second finding of the same symptom about somebody else is noise as well.
Alarm right(const Weighing& weighing, const std::vector<Finding>& findings, std::size_t answer) {
    std::vector<std::size_t> noise = not_allowed(weighing.expect, findings);
    for (std::size_t i = 0; i < findings.size(); ++i) {
        const Fit fit = weighing.fit(findings[i]);
        if (i != answer && (fit == other_blame || fit == too_early)) noise.push_back(i);
    }
    if (!noise.empty()) {
        return {.verdict = Verdict::fail,
                .outcome = Outcome::noisy,
                .reason = "noticed, but with false alarms beside it: " + about(findings, noise)};
    }
    return {.verdict = Verdict::pass,
            .outcome = Outcome::caught,
            .reason = fmt::format("{}, noticed {}", findings[answer].says,
                                  after_text(findings[answer].at - weighing.fault_at, "the fault"))};
}

Alarm with_answer(const Weighing& weighing, const std::vector<Finding>& findings, std::size_t answer) {
    Alarm alarm;
    switch (weighing.fit(findings[answer])) {
        case exact:
            alarm = right(weighing, findings, answer);
            break;
        case too_late:
            alarm = late(weighing, findings[answer]);
            break;
        case too_early:
            alarm = early(weighing, findings[answer]);
            break;
        default:
            alarm = wrong_blame(weighing, findings[answer]);
            break;
    }
    alarm.answer = static_cast<int>(answer);
    return alarm;
}

// What the scenario asks to be named must be known, or any comparison would be empty.
Fields nameless_fields(const scenarios::Expectation& expect, const Blame& culprit) {
    Fields fields;
    for (const std::string& field : expect.blames) {
        if (!is_set(field, culprit)) fields.push_back(field);
    }
    return fields;
}

}  // namespace

Alarm weigh_alarm(const scenarios::Expectation& expect, const Blame& culprit, Time fault_at,
                  const std::vector<Finding>& findings) {
    const Weighing weighing{expect, culprit, fault_at, fault_at + Time{expect.within}};
    const std::vector<std::size_t> others = not_allowed(expect, findings);
    if (const Fields nameless = nameless_fields(expect, culprit);
        !nameless.empty() && expect.unseen.empty()) {
        return {.verdict = Verdict::unknown,
                .outcome = Outcome::unjudged,
                .reason = fmt::format("the scenario wants the {} named, but the truth names none",
                                      nameless.front())};
    }
    std::size_t best = findings.size();
    for (std::size_t i = 0; i < findings.size(); ++i) {
        const Fit fit = weighing.fit(findings[i]);
        if (fit == other_symptom) continue;
        if (best == findings.size() || fit < weighing.fit(findings[best])) best = i;
    }
    if (best < findings.size()) return with_answer(weighing, findings, best);
    if (!expect.unseen.empty() && others.empty()) {
        return {.verdict = Verdict::pass,
                .outcome = Outcome::as_unseen,
                .reason = "unseen, as it must be: " + expect.unseen};
    }
    Alarm alarm = no_answer(weighing, findings, others);
    if (!others.empty()) alarm.answer = static_cast<int>(others.front());
    return alarm;
}

Blame culprit_of(const scenarios::Expectation& expect, const Truth& truth) {
    Blame culprit = truth.culprit();
    if (!expect.ranks.empty()) culprit.ranks.assign(expect.ranks.begin(), expect.ranks.end());
    if (expect.step) culprit.step = expect.step;
    return culprit;
}

std::vector<std::string> differing_fields(const std::vector<std::string>& fields, const Blame& said,
                                          const Blame& meant) {
    Fields differing;
    for (const std::string& field : fields) {
        if (!same(field, said, meant)) differing.push_back(field);
    }
    return differing;
}

std::vector<std::size_t> not_allowed(const scenarios::Expectation& expect,
                                     const std::vector<Finding>& findings) {
    std::vector<std::size_t> others;
    for (std::size_t i = 0; i < findings.size(); ++i) {
        const std::string& symptom = findings[i].symptom;
        if (symptom != expect.symptom && !has(expect.also, symptom)) others.push_back(i);
    }
    return others;
}

}  // namespace deadrank::results
