// results/reports/run_view.cpp — Ranks that a finding or the truth names are suspects: they keep a row
// of their own, and the page enlarges it.
#include "results/reports/run_view.h"

#include <array>
#include <nlohmann/json.hpp>
#include <set>

#include "results/judging/alarm.h"
#include "results/reports/encode.h"
#include "results/text/words.h"

namespace deadrank::results::reports {

namespace {

constexpr std::size_t suspects_most = 8;

std::string_view end_name(RankEnd end) {
    static constexpr std::array<std::string_view, 6> names = {"running", "finished", "failed",
                                                              "killed",  "stopped",  "stuck"};
    return names.at(static_cast<std::size_t>(end));
}

// The ranks that many words are about are no suspects: a finding may blame all of them.
std::set<Rank> suspects_of(const SeenRun& run) {
    std::set<Rank> suspects;
    const auto add = [&](const Blame& blame) {
        if (blame.ranks.size() > suspects_most / 2) return;
        for (const Rank rank : blame.ranks) {
            if (suspects.size() < suspects_most) suspects.insert(rank);
        }
    };
    if (run.truth) add(run.truth->culprit());
    if (run.findings) {
        for (const Finding& finding : *run.findings) add(finding.blame);
    }
    return suspects;
}

Json ends_view(const Truth& truth) {
    Json ends = Json::array();
    for (std::size_t value = 0; value < 6; ++value) {
        std::vector<Rank> ranks;
        for (std::size_t i = 0; i < truth.ends.size(); ++i) {
            if (static_cast<std::size_t>(truth.ends[i]) == value) ranks.push_back(static_cast<Rank>(i));
        }
        if (!ranks.empty())
            ends.push_back({ranges_text(ranks), end_name(static_cast<RankEnd>(value)), ranks.size()});
    }
    return ends;
}

Json marks_view(const Truth& truth) {
    Json marks = Json::array();
    for (const Mark& mark : truth.marks) {
        if (!is_about_a_fault(mark.kind)) continue;
        marks.push_back({{"t", micros_of(mark.at)},
                         {"kind", name_of(mark.kind)},
                         {"says", mark.says},
                         {"ranks", ranges_text(mark.blame.ranks)}});
    }
    return marks;
}

Json alarms_view(const std::vector<Finding>& findings, const Judgement* judgement) {
    Json alarms = Json::array();
    for (std::size_t i = 0; i < findings.size(); ++i) {
        const Finding& finding = findings[i];
        alarms.push_back({{"t", micros_of(finding.at)},
                          {"symptom", finding.symptom},
                          {"detector", finding.detector},
                          {"says", finding.says},
                          {"about", blame_text(finding.blame)},
                          {"ranks", ranges_text(finding.blame.ranks)},
                          {"answers", judgement && judgement->answer == static_cast<int>(i)}});
    }
    return alarms;
}

Json rows_view(const Evidence& evidence, const std::set<Rank>& suspects, std::size_t bytes_most) {
    const Timeline timeline = timeline_of(evidence);
    const Folded folded = fold(timeline, suspects, bytes_most);
    const EncodedRows encoded = encode(timeline, folded.rows);
    Json kinds = Json::array(), rows = Json::array();
    for (const SliceKind& kind : timeline.kinds)
        kinds.push_back({static_cast<int>(kind.lane), kind.group, kind.label, kind.detail, kind.series});
    for (const Row& row : folded.rows) rows.push_back(ranges_text(row.ranks));
    return {{"kinds", kinds},
            {"ranks", rows},
            {"shapes", encoded.shapes},
            {"times", encoded.times},
            {"tolerance", micros_of(folded.tolerance)},
            {"left_out", ranges_text(folded.left_out)}};
}

}  // namespace

double micros_of(Time time) { return time == never ? -1 : static_cast<double>(time.count() / 1'000); }

Json run_view(const SeenRun& run, std::size_t bytes_most) {
    const Evidence& evidence = *run.evidence;
    const std::set<Rank> suspects = suspects_of(run);
    Json view = {{"variant", run.variant},
                 {"world", evidence.world_size()},
                 {"nodes", 1},
                 {"per_node", 1},
                 {"events", evidence.events().size()},
                 {"until", micros_of(evidence.observed_until())},
                 {"suspects", std::vector<Rank>(suspects.begin(), suspects.end())},
                 {"rows", rows_view(evidence, suspects, bytes_most)},
                 {"waits", waits_view(evidence, run.truth)},
                 {"logs", logs_view(evidence)},
                 {"counters", counters_view(evidence)},
                 {"marks", run.truth ? marks_view(*run.truth) : Json::array()},
                 {"ends", run.truth ? ends_view(*run.truth) : Json::array()},
                 {"alarms", run.findings ? alarms_view(*run.findings, run.judgement) : Json::array()}};
    if (const auto starts = evidence.each<JobStart>(); !starts.empty()) {
        view["nodes"] = starts.front()->as<JobStart>()->nodes;
        view["per_node"] = starts.front()->as<JobStart>()->gpus_per_node;
    }
    if (!evidence.events().empty()) view["last"] = micros_of(evidence.events().back().at);
    if (run.judgement) {
        view["verdict"] = name_of(run.judgement->verdict);
        view["outcome"] = name_of(run.judgement->outcome);
        view["reason"] = run.judgement->reason;
        view["job"] = reaction_text(run.judgement->job.reaction);
        view["culprit"] = blame_text(run.judgement->culprit);
    }
    return view;
}

}  // namespace deadrank::results::reports
