// results/reports/run_view.cpp — One run as data for the page: its timeline, its logs, who waits for whom.
#include "results/reports/run_view.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "results/analysis/waits.h"
#include "results/judging/alarm.h"
#include "results/record/words.h"
#include "results/reports/style.h"
#include "results/reports/terminal.h"
#include "results/reports/timeline.h"

namespace deadrank::results::reports {

// ── Ranks that a finding or the truth names are suspects: they keep a row of their own, which the page
// enlarges.

namespace {

constexpr std::size_t suspects_most = 8;

std::string_view end_name(RankEnd end) {
    static constexpr std::array<std::string_view, 6> names = {"running", "finished", "failed",
                                                              "killed",  "stopped",  "stuck"};
    return names.at(static_cast<std::size_t>(end));
}

// A finding may blame all ranks: one that blames many makes no suspects.
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
        kinds.push_back({static_cast<int>(kind.lane), kind.colour(), kind.label, kind.detail, kind.series});
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

// ── Logs and counters as the page's data.

namespace {

constexpr std::size_t log_lines_most = 240;
constexpr std::size_t letters_most = 1'600;  // of one line: enough for a traceback, not for a dump

struct Span {
    Time at{0};
    double low = HUGE_VAL, high = -HUGE_VAL;
    bool finite = true;
};

Json spans_view(const std::map<std::int64_t, Span>& spans) {
    Json list = Json::array();
    for (const auto& [step, span] : spans) {
        const bool shown = span.low <= span.high;
        list.push_back({step, micros_of(span.at), shown ? Json(span.low) : Json(nullptr),
                        shown ? Json(span.high) : Json(nullptr), span.finite ? 1 : 0});
    }
    return list;
}

}  // namespace

Json logs_view(const Evidence& evidence) {
    const LogLines logs = log_lines(evidence, log_lines_most);
    Json list = Json::array();
    for (const LogLine& line : logs.lines) {
        list.push_back({micros_of(line.at), ranges_text(line.ranks), line.level,
                        scenarios::enum_name(line.source), Style{}.cut(line.text, letters_most)});
    }
    return {{"lines", list}, {"left_out", logs.left_out}};
}

// Loss and device memory by step: the lowest and the highest of all ranks.
Json counters_view(const Evidence& evidence) {
    std::map<std::int64_t, Span> loss, memory;
    const auto take = [](Span& span, Time at, double value) {
        span.at = std::max(span.at, at);
        span.finite &= std::isfinite(value);
        if (!std::isfinite(value)) return;
        span.low = std::min(span.low, value);
        span.high = std::max(span.high, value);
    };
    for (const Event* event : evidence.each<StepEnd>())
        take(loss[event->as<StepEnd>()->step], event->at, event->as<StepEnd>()->loss);
    std::map<Rank, std::int64_t> sample;
    for (const Event* event : evidence.each<MemorySample>()) {
        const std::int64_t number = sample[event->rank]++;
        take(memory[number], event->at, static_cast<double>(event->as<MemorySample>()->used));
    }
    return {{"loss", spans_view(loss)}, {"memory", spans_view(memory)}};
}

// ── Which ranks wait for which, from evidence, as groups with arrows between them; and in the simulator's
// own words, if there are any.

namespace {

using analysis::Life;
using analysis::Lives;
using analysis::Wait;
using analysis::Waits;

constexpr std::size_t groups_most = 40;

struct Group {
    std::string says, detail;
    bool is_root = false;  // it is waited for, and waits for nobody
    Time since = never;
    std::vector<Rank> ranks, for_whom;
};

std::string offered(const Wait& wait, Rank process) {
    if (!wait.collective) return {};
    const std::size_t place = wait.comm->place_of(process);
    if (place >= wait.collective->calls.size() || !wait.collective->calls[place].what) return {};
    const CollectiveEnter& what = *wait.collective->calls[place].what;
    return fmt::format("{} × {}", what.count, name_of(what.dtype));
}

// `known`: nothing later than that is told.
std::string life_state(const Life* life, Time known) {
    if (!life || !life->start) return "was never seen";
    if (life->ended == never || life->ended > known) return "still running, not waiting";
    if (life->signal != 0) return fmt::format("exited (signal {})", life->signal);
    return life->code == 0 ? "finished" : fmt::format("exited (code {})", life->code);
}

std::vector<Group> groups_of(const Waits& waits) {
    std::map<std::string, Group> groups;
    for (const auto& [process, all] : waits.waits()) {
        for (const Wait& wait : all) {
            const std::string says = Waits::call_text(wait);
            const std::string detail = offered(wait, process);
            Group& group =
                groups[fmt::format("{}|{}|{}|{}", wait.comm->id, says, detail, ranges_text(wait.for_whom))];
            group.says = says;
            group.detail = detail;
            group.since = std::min(group.since, wait.since);
            group.ranks.push_back(process);
            group.for_whom = wait.for_whom;
        }
    }
    std::vector<Group> list;
    for (auto& [key, group] : groups) list.push_back(std::move(group));
    return list;
}

// The ranks that are waited for and wait for nobody, grouped by how they ended.
void add_roots(std::vector<Group>& groups, const Lives& lives, int attempt, Time known) {
    std::set<Rank> waiting, roots;
    for (const Group& group : groups) waiting.insert(group.ranks.begin(), group.ranks.end());
    for (const Group& group : groups) {
        for (const Rank rank : group.for_whom) {
            if (waiting.count(rank) == 0) roots.insert(rank);
        }
    }
    std::map<std::string, Group> by_state;
    for (const Rank rank : roots) {
        Group& group = by_state[life_state(lives.find(attempt, rank), known)];
        group.ranks.push_back(rank);
    }
    for (auto& [state, group] : by_state) {
        group.is_root = true;
        group.says = state;
        groups.push_back(std::move(group));
    }
}

// Ranks that are in a call whose peers the evidence does not name, such as a rendezvous: whom they wait for is
// not known, but that they wait is.
void add_open_calls(std::vector<Group>& groups, const Evidence& evidence, Time when) {
    std::set<Rank> known;
    for (const Group& group : groups) known.insert(group.ranks.begin(), group.ranks.end());
    std::map<std::string, Group> by_call;
    const Timeline timeline = timeline_of(evidence);
    for (std::size_t i = 0; i < timeline.ranks.size(); ++i) {
        if (known.count(static_cast<Rank>(i)) > 0) continue;
        for (const Slice& slice : timeline.ranks[i]) {
            const SliceKind& kind = timeline.kinds[slice.kind];
            if (kind.lane != Lane::call || slice.begin > when || (slice.end != never && slice.end <= when)) continue;
            Group& group = by_call[kind.label];
            group.says = kind.label;
            group.detail = kind.detail;
            group.since = std::min(group.since, slice.begin);
            group.ranks.push_back(static_cast<Rank>(i));
            break;
        }
    }
    for (auto& [label, group] : by_call) groups.push_back(std::move(group));
}

Json arrows_of(const std::vector<Group>& groups) {
    std::map<Rank, std::vector<std::size_t>> of;
    for (std::size_t i = 0; i < groups.size(); ++i) {
        for (const Rank rank : groups[i].ranks) of[rank].push_back(i);
    }
    Json arrows = Json::array();
    for (std::size_t i = 0; i < groups.size(); ++i) {
        std::set<std::size_t> to;
        for (const Rank rank : groups[i].for_whom) {
            if (const auto found = of.find(rank); found != of.end())
                to.insert(found->second.begin(), found->second.end());
        }
        for (const std::size_t target : to) arrows.push_back({i, target});
    }
    return arrows;
}

// Moments at which a standstill may be visible: the end, and just before ranks gave up. The first that died
// may be the one for which the others then wait: rank 3 is killed at 1 s, and the watchdog of the others ends
// them at 601 s.
std::vector<Time> moments_of(const Evidence& evidence) {
    constexpr std::size_t most = 8;
    std::set<Time> ends;
    for (const Event* event : evidence.each<RankExit>()) {
        const auto* exit = event->as<RankExit>();
        if (exit->code != 0 || exit->signal != 0) ends.insert(event->at);
    }
    for (const Event* event : evidence.each<CommAbort>()) ends.insert(event->at);
    std::vector<Time> moments = {evidence.observed_until()};
    for (const Time end : ends)
        if (moments.size() <= most) moments.push_back(end - Time{1});
    return moments;
}

// "rank 1 waits … ", "rank 2 waits …" with the same words become one line.
Json told(const Truth& truth) {
    std::vector<std::string> order;
    std::map<std::string, std::vector<Rank>> by_words;
    for (const std::string& line : truth.waits_for) {
        const std::size_t digits = line.find_first_of("0123456789");
        const std::size_t end = line.find_first_not_of("0123456789", digits);
        if (!line.starts_with("rank ") || digits != 5 || end == std::string::npos || end > 14) continue;
        const std::string words = line.substr(end + 1);
        if (by_words.count(words) == 0) order.push_back(words);
        by_words[words].push_back(std::stoi(line.substr(digits, end - digits)));
    }
    Json lines = Json::array();
    for (const std::string& words : order) lines.push_back({ranges_text(by_words[words]), words});
    return lines;
}

}  // namespace

namespace {

Json empty_waits() { return {{"groups", Json::array()}, {"arrows", Json::array()}, {"left_out", 0}}; }

Json group_view(const Group& group) {
    return {{"ranks", ranges_text(group.ranks)},
            {"count", group.ranks.size()},
            {"says", group.says},
            {"detail", group.detail},
            {"state", group.is_root ? "root" : "waits"},
            {"since", micros_of(group.since)}};
}

// Waits that had lasted for `shortest` at that time, and what is `known` of those who are waited for.
Json long_waits_at(const Evidence& evidence, Time when, Time shortest, Time known) {
    const auto& lives = evidence.facts<Lives>();
    const int attempt = lives.attempt_at(when);
    Json view = empty_waits();
    std::vector<Group> groups = groups_of(Waits(evidence, attempt, when));
    add_open_calls(groups, evidence, when);
    std::erase_if(groups, [&](const Group& group) { return when - group.since < shortest; });
    if (groups.empty()) return view;
    add_roots(groups, lives, attempt, known);
    std::stable_sort(groups.begin(), groups.end(), [](const Group& a, const Group& b) {
        return a.is_root > b.is_root || (a.is_root == b.is_root && a.ranks.size() > b.ranks.size());
    });
    if (groups.size() > groups_most) {
        view["left_out"] = groups.size() - groups_most;
        groups.resize(groups_most);
    }
    for (const Group& group : groups) view["groups"].push_back(group_view(group));
    view["arrows"] = arrows_of(groups);
    return view;
}

}  // namespace

Json waits_at(const Evidence& evidence, Time when) {
    Json view = long_waits_at(evidence, when, Time{0}, when);
    view["at"] = micros_of(when);
    return view;
}

Json waits_view(const Evidence& evidence, const Truth* truth) {
    const Time shortest = std::min<Time>(evidence.facts<Lives>().hang_after(), std::chrono::seconds(5));
    Json view = empty_waits();
    for (const Time when : moments_of(evidence)) {
        Json found = long_waits_at(evidence, when, shortest, never);
        if (found["groups"].empty()) continue;
        view = std::move(found);
        view["at"] = micros_of(when);
        break;
    }
    view["shortest"] = micros_of(shortest);
    if (truth) view["told"] = told(*truth);
    return view;
}

}  // namespace deadrank::results::reports
