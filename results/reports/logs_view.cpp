// results/reports/logs_view.cpp — Logs and counters as the page's data.
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "results/reports/log_lines.h"
#include "results/reports/run_view.h"
#include "results/text/style.h"
#include "results/text/words.h"

namespace deadrank::results::reports {

namespace {

constexpr std::size_t log_lines_most = 240;
constexpr std::size_t letters_most = 1'600;  // of one line: a traceback reads on, a dump does not

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
        list.push_back({micros_of(line.at), ranges_text(line.ranks), line.level, line.kind,
                        Style{}.cut(line.text, letters_most)});
    }
    return {{"lines", list}, {"left_out", logs.left_out}};
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
