// results/analysis/step_reached.cpp — The step that is open, or the next one.
#include "results/analysis/step_reached.h"

#include <algorithm>

#include "results/analysis/complaints.h"

namespace deadrank::results::analysis {

namespace {

// Computing takes a simulated rank no time, so the order of events counts, not their times.
template <class Payload>
bool does_any(const Evidence& evidence, const Event& after, Time until) {
    const auto events = evidence.each<Payload>();
    return std::any_of(events.begin(), events.end(), [&](const Event* event) {
        return event->rank == after.rank && event > &after && event->at <= until;
    });
}

}  // namespace

std::optional<std::int64_t> step_reached(const Evidence& evidence, Rank process, Time time) {
    const auto step = step_at(evidence, process, time);
    const Event* ended = nullptr;
    for (const Event* event : evidence.each<StepEnd>())
        if (event->rank == process && event->at <= time) ended = event;
    if (!step || !ended || ended->as<StepEnd>()->step != *step) return step;
    const bool went_on =
        does_any<CollectiveEnter>(evidence, *ended, time) || does_any<P2pEnter>(evidence, *ended, time) ||
        does_any<PhaseBegin>(evidence, *ended, time) || does_any<CheckpointSave>(evidence, *ended, time) ||
        does_any<CheckpointLoad>(evidence, *ended, time);
    const auto begins = evidence.each<StepBegin>();
    const bool others_did = std::any_of(begins.begin(), begins.end(), [&](const Event* event) {
        return event->rank != process && event->as<StepBegin>()->step == *step + 1;
    });
    return !went_on && others_did ? *step + 1 : *step;
}

}  // namespace deadrank::results::analysis
