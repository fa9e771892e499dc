// results/judging/alarm.cpp — Picks the finding that answers best: right and in time, else right but late,
// else the right class with the wrong blame.
#include "results/judging/alarm.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <optional>
#include <utility>

#include "results/record/words.h"
#include "scenarios/model/kind_ids.h"
#include "scenarios/model/taxonomy_ids.h"

namespace deadrank::results {

using scenarios::Symptom;

namespace {

using scenarios::BlameField;
using Fields = scenarios::BlameFields;

template <class T>
bool same_set(std::vector<T> a, std::vector<T> b) {
    for (auto* list : {&a, &b}) {
        std::sort(list->begin(), list->end());
        list->erase(std::unique(list->begin(), list->end()), list->end());
    }
    return a == b;
}

bool same(BlameField field, const Blame& said, const Blame& meant) {
    switch (field) {
        case BlameField::rank:
            return same_set(said.ranks, meant.ranks);
        case BlameField::node:
            return same_set(said.nodes, meant.nodes);
        case BlameField::step:
            return said.step == meant.step;
        case BlameField::variable:
            return said.variable == meant.variable;
        case BlameField::component:
            return said.component == meant.component;
        case BlameField::collective:
            return said.collective == meant.collective;
        case BlameField::shard:
            return said.shard == meant.shard;
    }
    return false;
}

bool is_set(BlameField field, const Blame& blame) {
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
        if (!expect.is_answered_by(finding.symptom)) return other_symptom;
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

// The fields in which the answer was wrong: "blamed rank 5; it was rank 3".
Alarm wrong_blame(const Weighing& weighing, const Finding& finding) {
    const Fields fields = differing_fields(weighing.expect.blames, finding.blame, weighing.culprit);
    // Of a node that is hit the first rank to fail may end the job, so that no other rank shows anything.
    const Blame &said = finding.blame, &meant = weighing.culprit;
    const bool some_of_them = !said.ranks.empty() && std::ranges::includes(meant.ranks, said.ranks);
    const bool node_is_right = fields == Fields{BlameField::rank} && some_of_them && !meant.nodes.empty() &&
                               same(BlameField::node, said, meant);
    const bool says_nothing_of_them = blame_text(said, fields) == blame_text(Blame{});
    std::string what = fmt::format("blamed {}", blame_text(said, fields));
    if (says_nothing_of_them && !(said == Blame{})) {
        what = "names";
        for (const BlameField field : fields) what += fmt::format(" no {}", scenarios::enum_name(field));
    }
    return {
        .verdict = Verdict::fail,
        .outcome = Outcome::wrong_rank,
        .reason = fmt::format("{} {}; it was {}{}", finding.detector, what, blame_text(meant, fields),
                              node_is_right ? fmt::format(" (the {} is right: blames = [\"node\"] asks for "
                                                          "no single ranks)",
                                                          blame_text(meant, {BlameField::node}))
                                            : "")};
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
            .reason = fmt::format("{} raised an alarm {} before the fault", finding.detector,
                                  duration_text(weighing.fault_at - finding.at))};
}

// "symptom about rank 3", or the symptom alone if the scenario asks for no blame.
std::string due_text(const Weighing& weighing) {
    const std::string who = blame_text(weighing.culprit, weighing.expect.blames);
    const bool somebody = !weighing.expect.blames.empty();
    return weighing.expect.symptom_text() + (somebody ? " about " + who : std::string());
}

Alarm no_answer(const Weighing& weighing, const std::vector<Finding>& findings,
                const std::vector<std::size_t>& others) {
    const std::string due = due_text(weighing);
    if (findings.empty()) {
        return {.verdict = Verdict::fail,
                .outcome = Outcome::silent,
                .reason = fmt::format("no detector noticed; {} was expected", due)};
    }
    // What `also` allows may be said beside the symptom, and does not answer for it.
    return {.verdict = Verdict::fail,
            .outcome = Outcome::wrong_class,
            .reason = others.empty()
                          ? fmt::format("{} was due; only said what `also` allows beside it: {}", due,
                                        about(findings.front()))
                          : fmt::format("{} was due; said instead: {}", due, about(findings, others))};
}

// The answer is right and in time; is it alone? The same symptom about another rank is noise as well.
Alarm right(const Weighing& weighing, const std::vector<Finding>& findings, std::size_t answer) {
    std::vector<std::size_t> noise = list_unexpected_findings(weighing.expect, findings);
    for (std::size_t i = 0; i < findings.size(); ++i) {
        const Fit fit = weighing.fit(findings[i]);
        if (i != answer && (fit == other_blame || fit == too_early)) noise.push_back(i);
    }
    if (!noise.empty()) {
        return {.verdict = Verdict::fail,
                .outcome = Outcome::noisy,
                .reason = "noticed, but with additional false alarms: " + about(findings, noise)};
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

// Fields that the scenario asks for but the truth does not know: comparing them would prove nothing.
Fields nameless_fields(const scenarios::Expectation& expect, const Blame& culprit) {
    Fields fields;
    for (const BlameField field : expect.blames) {
        if (!is_set(field, culprit)) fields.push_back(field);
    }
    return fields;
}

template <class T>
bool within(const std::vector<T>& part, const std::vector<T>& whole) {
    return std::all_of(part.begin(), part.end(), [&](const T& one) {
        return std::find(whole.begin(), whole.end(), one) != whole.end();
    });
}

template <class T>
void add(const std::vector<T>& more, std::vector<T>& all) {
    all.insert(all.end(), more.begin(), more.end());
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
}

// One fault may stop two groups or fill two hosts, and a detector may report each by itself: findings of the
// due symptom that blame only culprits count as one, made when the last of them was.
struct JointFindings {
    std::vector<Finding> findings;     // the joint one instead of all its parts
    std::vector<std::size_t> indices;  // index of each before; of the joint one, its last part's
    std::size_t parts = 0;
};

JointFindings join_findings(const Weighing& weighing, const std::vector<Finding>& findings) {
    JointFindings all;
    std::optional<Finding> joint;
    std::size_t last = 0;
    for (std::size_t i = 0; i < findings.size(); ++i) {
        const Finding& one = findings[i];
        const bool part = weighing.expect.is_answered_by(one.symptom) && one.at >= weighing.fault_at &&
                          within(one.blame.ranks, weighing.culprit.ranks) &&
                          within(one.blame.nodes, weighing.culprit.nodes);
        if (!part) {
            all.findings.push_back(one);
            all.indices.push_back(i);
            continue;
        }
        ++all.parts;
        last = i;
        if (joint) {
            add(one.blame.ranks, joint->blame.ranks);
            add(one.blame.nodes, joint->blame.nodes);
            joint->says += "; " + one.says;
            joint->at = std::max(joint->at, one.at);
        } else {
            joint = one;
        }
    }
    if (!joint) return all;
    all.findings.push_back(std::move(*joint));
    all.indices.push_back(last);
    return all;
}

Alarm weigh_each(const Weighing& weighing, const std::vector<Finding>& findings,
                 const std::vector<std::size_t>& others);

}  // namespace

Alarm weigh_alarm(const scenarios::Expectation& expect, const Blame& culprit, Time fault_at,
                  const std::vector<Finding>& findings) {
    const Weighing weighing{expect, culprit, fault_at, fault_at + Time{expect.within}};
    const std::vector<std::size_t> others = list_unexpected_findings(expect, findings);
    if (const Fields nameless = nameless_fields(expect, culprit);
        !nameless.empty() && expect.unseen.empty()) {
        return {.verdict = Verdict::unknown,
                .outcome = Outcome::unjudged,
                .reason = fmt::format("the scenario wants the {} named, but the truth names none",
                                      scenarios::enum_name(nameless.front()))};
    }
    const Alarm alone = weigh_each(weighing, findings, others);
    if (alone.outcome != Outcome::wrong_rank) return alone;
    const JointFindings together = join_findings(weighing, findings);
    if (together.parts < 2) return alone;
    Alarm alarm =
        weigh_each(weighing, together.findings, list_unexpected_findings(expect, together.findings));
    if (alarm.outcome == Outcome::wrong_rank) return alone;
    if (alarm.answer >= 0)
        alarm.answer = static_cast<int>(together.indices[static_cast<std::size_t>(alarm.answer)]);
    return alarm;
}

namespace {

Alarm weigh_each(const Weighing& weighing, const std::vector<Finding>& findings,
                 const std::vector<std::size_t>& others) {
    const scenarios::Expectation& expect = weighing.expect;
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
    if (!findings.empty()) alarm.answer = others.empty() ? 0 : static_cast<int>(others.front());
    return alarm;
}

}  // namespace

Blame culprit_of(const scenarios::Expectation& expect, const Record& record) {
    Blame culprit = record.truth.culprit();
    if (!expect.ranks.empty()) {
        culprit.ranks.assign(expect.ranks.begin(), expect.ranks.end());
        std::vector<std::int32_t> nodes;
        for (const Event* start : record.evidence.each<RankStart>())
            if (within({start->rank}, culprit.ranks)) add({start->as<RankStart>()->node}, nodes);
        if (!nodes.empty()) culprit.nodes = std::move(nodes);
    }
    if (expect.step) culprit.step = expect.step;
    return culprit;
}

namespace {

// The ranks whose processes the fault ended; none if it ends no process.
std::vector<Rank> ended_ranks(const scenarios::FaultSpec& fault, const Mark& mark) {
    if (fault.kind == scenarios::FaultId::lose_node) return mark.blame.ranks;
    if (fault.kind != scenarios::FaultId::exit_rank && fault.kind != scenarios::FaultId::kill_rank) return {};
    const std::vector<std::int64_t> ranks = fault.ranks();
    return {ranks.begin(), ranks.end()};
}

bool reports_provoked_end(const Finding& finding, const scenarios::Plan& plan, const Truth& truth) {
    const bool of_an_end = finding.symptom == Symptom::framework_runtime_exception ||
                           finding.symptom == Symptom::native_crash_or_illegal_access ||
                           finding.symptom == Symptom::remote_peer_connection_error;  // as gloo's peers see it
    if (!of_an_end || finding.blame.ranks.empty()) return false;
    if (finding.symptom == plan.bug.symptom || plan.expect.is_answered_by(finding.symptom)) return false;
    return std::any_of(truth.marks.begin(), truth.marks.end(), [&](const Mark& mark) {
        const auto index = static_cast<std::size_t>(std::max(mark.fault, 0));
        if (mark.kind != MarkKind::applied || index >= plan.faults.size()) return false;
        const scenarios::FaultSpec& fault = plan.faults[index];
        return fault.provokes && finding.at >= mark.at && finding.at - mark.at <= std::chrono::seconds(1) &&
               within(finding.blame.ranks, ended_ranks(fault, mark));
    });
}

// A bug may be that the others are never told of an error: then the due answer is the standstill that follows
// from it, and the error, which only provokes it, is none.
std::vector<Finding> answers_in(const Finding& finding, const scenarios::Plan& plan, const Truth& truth,
                                bool told_outright) {
    if (reports_provoked_end(finding, plan, truth)) return finding.followed_by;
    if (told_outright) return {finding};
    for (const Finding& next : finding.followed_by)
        if (plan.expect.is_answered_by(next.symptom)) return {next};
    return {finding};
}

}  // namespace

Alarm weigh_alarm(const scenarios::Plan& plan, const Truth& truth, const Blame& culprit,
                  const std::vector<Finding>& findings) {
    const bool told_outright = std::any_of(findings.begin(), findings.end(), [&](const Finding& one) {
        return plan.expect.is_answered_by(one.symptom);
    });
    std::vector<Finding> heard;
    std::vector<std::size_t> indices;
    for (std::size_t i = 0; i < findings.size(); ++i) {
        for (Finding& one : answers_in(findings[i], plan, truth, told_outright)) {
            heard.push_back(std::move(one));
            indices.push_back(i);
        }
    }
    const Time fault_at = truth.first_fault();
    if (heard.empty() && plan.expect.unseen.empty())
        return weigh_alarm(plan.expect, culprit, fault_at, findings);
    Alarm alarm = weigh_alarm(plan.expect, culprit, fault_at, heard);
    if (alarm.answer >= 0) alarm.answer = static_cast<int>(indices[static_cast<std::size_t>(alarm.answer)]);
    return alarm;
}

std::vector<std::size_t> list_false_alarms(const std::vector<Finding>& findings, const scenarios::Plan& plan,
                                           const Truth& truth) {
    const bool healed = plan.variant == scenarios::Variant::healed;
    std::vector<std::size_t> alarms;
    for (std::size_t i = 0; i < findings.size(); ++i) {
        if (healed && has(plan.expect.also, findings[i].symptom)) continue;
        if (!healed || !reports_provoked_end(findings[i], plan, truth) || !findings[i].followed_by.empty())
            alarms.push_back(i);
    }
    return alarms;
}

Fields differing_fields(const Fields& fields, const Blame& said, const Blame& meant) {
    Fields differing;
    for (const BlameField field : fields) {
        if (!same(field, said, meant)) differing.push_back(field);
    }
    return differing;
}

std::vector<std::size_t> list_unexpected_findings(const scenarios::Expectation& expect,
                                                  const std::vector<Finding>& findings) {
    std::vector<std::size_t> others;
    for (std::size_t i = 0; i < findings.size(); ++i) {
        const std::string& symptom = findings[i].symptom;
        if (!expect.is_answered_by(symptom) && !has(expect.also, symptom)) others.push_back(i);
    }
    return others;
}

}  // namespace deadrank::results
