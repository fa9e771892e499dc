// results/reports/html/logs_view.cpp — What ranks wrote and what the machine said of them. A line that
// several ranks wrote at about one time is one line; of very many the first, the last and the errors stay.
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>

#include "results/reports/event_text.h"
#include "results/reports/html/run_view.h"
#include "results/reports/style.h"
#include "results/words.h"

namespace deadrank::results::reports {

namespace {

constexpr std::size_t lines_most = 240;
constexpr std::size_t letters_most = 1'600;  // of one line: a traceback reads on, a dump does not

struct Line {
    Time at{0};
    int level = 0;
    std::string kind, text;
    std::vector<Rank> ranks;
};

// What a reader of logs wants to see; the rest is on the timeline.
bool describe(const Evidence& evidence, const Event& event, Line& line) {
    line.at = event.at;
    line.kind = kind_name(event);
    if (const auto* log = event.as<RankLog>()) {
        line.level = log->level;
        line.text = evidence.text(log->line);
        return true;
    }
    if (const auto* exit = event.as<RankExit>()) line.level = exit->code != 0 || exit->signal != 0 ? 2 : 0;
    if (const auto* load = event.as<PackageLoad>()) line.level = load->result != Code::ok ? 2 : -1;
    if (const auto* save = event.as<CheckpointSave>()) line.level = save->result != Code::ok ? 2 : -1;
    if (const auto* load = event.as<CheckpointLoad>()) line.level = load->result != Code::ok ? 2 : -1;
    if (const auto* test = event.as<TestResult>()) line.level = test->passed ? 0 : 2;
    if (event.as<CommError>() || event.as<DeviceError>() || event.as<MemoryOom>()) line.level = 2;
    if (event.as<CommAbort>() || event.as<Restart>()) line.level = 1;
    const bool shown = line.level > 0 || event.as<RankExit>() || event.as<JobStart>() ||
                       event.as<JobStop>() || event.as<TestResult>();
    if (shown) line.text = fields_text(evidence, event);
    return shown;
}

std::vector<Line> folded_lines(const Evidence& evidence) {
    constexpr Time together = std::chrono::seconds(1);
    std::vector<Line> lines;
    std::map<std::pair<std::string, std::string>, std::size_t> latest;
    for (const Event& event : evidence.events()) {
        Line line;
        if (!describe(evidence, event, line)) continue;
        const auto key = std::pair(line.kind, line.text);
        const auto known = latest.find(key);
        if (event.rank != no_rank && known != latest.end() && event.at - lines[known->second].at < together) {
            lines[known->second].ranks.push_back(event.rank);
            continue;
        }
        latest[key] = lines.size();
        if (event.rank != no_rank) line.ranks.push_back(event.rank);
        lines.push_back(std::move(line));
    }
    return lines;
}

std::size_t keep_most(std::vector<Line>& lines) {
    if (lines.size() <= lines_most) return 0;
    const std::size_t all = lines.size(), part = lines_most / 3;
    std::vector<Line> kept;
    std::size_t errors = 0;
    for (std::size_t i = 0; i < all; ++i) {
        const bool edge = i < part || i + part >= all;
        if (edge || (lines[i].level > 0 && errors++ < part)) kept.push_back(std::move(lines[i]));
    }
    lines = std::move(kept);
    return all - lines.size();
}

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
    std::vector<Line> lines = folded_lines(evidence);
    const std::size_t left_out = keep_most(lines);
    Json list = Json::array();
    for (Line& line : lines) {
        std::sort(line.ranks.begin(), line.ranks.end());
        line.ranks.erase(std::unique(line.ranks.begin(), line.ranks.end()), line.ranks.end());
        list.push_back({micros_of(line.at), ranges_text(line.ranks), line.level, line.kind,
                        Style{}.cut(line.text, letters_most)});
    }
    return {{"lines", list}, {"left_out", left_out}};
}

// Loss and device memory by step, from the lowest to the highest of the ranks.
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

}  // namespace deadrank::results::reports
