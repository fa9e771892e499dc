// results/detectors/loss_anomaly.cpp — The loss is not a number, is stuck at zero, or leaves its band. Not a
// number counts at once, zero after three steps unless the loss had come down to it, a jump from a
// hundredfold on.
#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <map>

#include "results/analysis/findings.h"
#include "results/detectors/detector.h"
#include "results/detectors/shared.h"
#include "scenarios/model/taxonomy_ids.h"

namespace deadrank::results::detectors {

using scenarios::Cause;
using scenarios::Symptom;

using namespace analysis;

namespace {

constexpr int zeros_min = 3;
constexpr double jump = 100;         // times the largest earlier loss of the run
constexpr int loss_history_min = 3;  // earlier losses needed before a jump counts
constexpr double grain_max = 16;  // times the smallest change: what is left of a loss that came down to zero

struct Curve {
    double largest = 0;
    int seen = 0;
    int zeros = 0;
    bool was_positive = false, was_negative = false;
    double grain = INFINITY;            // the smallest change between two losses above zero in a row
    std::array<double, 3> recent = {};  // the last losses above zero
    std::size_t next = 0;               // of them, the one to replace

    void keep(double size) {
        const double before = recent[(next + recent.size() - 1) % recent.size()];
        if (before > 0 && zeros == 0 && size != before) grain = std::min(grain, std::abs(size - before));
        recent[next++ % recent.size()] = size;
    }
    // A small loss is printed with few digits, and in the end as zero. Its last values are then far below the
    // largest, and a few times the step between two printed numbers, which shows as the smallest change.
    bool has_converged() const {
        const double last = *std::max_element(recent.begin(), recent.end());
        return last * jump <= largest && last <= grain_max * grain && std::isfinite(grain);
    }
};

std::string anomaly_of(Curve& curve, const StepEnd& end) {
    if (!std::isfinite(end.loss)) return fmt::format("a loss of {}", end.loss);
    if (!std::isfinite(end.gradient_norm)) return fmt::format("a gradient norm of {}", end.gradient_norm);
    const double size = std::abs(end.loss);
    std::string words;
    // A loss that takes both signs, like a policy loss, may cross zero: its earlier size says nothing.
    curve.was_negative |= end.loss < 0;
    if (curve.seen >= loss_history_min && curve.largest > 0 && size > jump * curve.largest &&
        !curve.was_negative) {
        words = fmt::format("a loss of {} after at most {} before", end.loss, curve.largest);
    }
    if (size > 0) curve.keep(size);
    curve.zeros = size == 0 ? curve.zeros + 1 : 0;
    if (curve.was_positive && curve.zeros >= zeros_min && !curve.has_converged())
        words = fmt::format("a loss of zero for {} steps", curve.zeros);
    curve.was_positive |= size > 0;
    curve.largest = std::max(curve.largest, size);
    ++curve.seen;
    return words;
}

// The first rank whose own quantity was not a number: a local gradient, say, before the reduction spread it.
std::optional<Rank> first_local(const Evidence& evidence, std::int64_t step) {
    std::optional<Rank> first;
    for (const Event* event : evidence.each<ValueSample>()) {
        const auto* sample = event->as<ValueSample>();
        if (sample->step > step || std::isfinite(sample->value)) continue;
        if (first && *first != event->rank) return std::nullopt;
        first = event->rank;
    }
    return first;
}

// Names the other ranks that are blamed: ", likewise ranks 1-3".
std::string likewise(Rank shown, std::vector<Rank> ranks) {
    std::erase(ranks, shown);
    return ranks.empty() ? std::string() : ", likewise " + ranks_text(sorted(std::move(ranks)));
}

}  // namespace

Findings loss_anomaly(const Evidence& evidence) {
    std::map<Rank, Curve> curves;
    std::vector<Rank> ranks;
    const Event* first = nullptr;
    std::string says;
    for (const Event* event : evidence.each<StepEnd>()) {
        const auto* end = event->as<StepEnd>();
        if (first && end->step != first->as<StepEnd>()->step) continue;
        std::string words = anomaly_of(curves[event->rank], *end);
        if (words.empty()) continue;
        if (!first) {
            first = event;
            says = std::move(words);
        }
        ranks.push_back(event->rank);
    }
    if (!first) return {};
    const std::int64_t step = first->as<StepEnd>()->step;
    const auto source = first_local(evidence, step);
    if (source) ranks = {*source};
    Finding finding{.symptom = id_of(Symptom::loss_nan_or_divergence),
                    .blame = blame_ranks(evidence.facts<Lives>(), ranks),
                    .at = first->at,
                    .says = fmt::format("{} shows {} in step {}{}", ranks_text({first->rank}), says, step,
                                        source ? "" : likewise(first->rank, ranks)),
                    .causes = {id_of(Cause::numeric_edge_case_error), id_of(Cause::stream_or_buffer_race),
                               id_of(Cause::hardware_or_link_fault)}};
    finding.blame.step = step;
    return {finding};
}

extern const DetectorRow loss_anomaly_row{
    .name = "loss_anomaly", .reports = {id_of(Symptom::loss_nan_or_divergence)}, .examine = loss_anomaly};

extern const Thresholds loss_anomaly_thresholds{
    {"a loss, of the largest before", static_cast<std::int64_t>(jump), "times"},
    {"losses known before", loss_history_min},
    {"steps with a loss of zero", zeros_min},
    {"a loss that came down to zero, of its smallest change", static_cast<std::int64_t>(grain_max), "times"}};

}  // namespace deadrank::results::detectors
