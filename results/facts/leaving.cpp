// results/facts/leaving.cpp — A rendezvous says the same at both ends of a job; the step in between
// tells them apart.
#include "results/facts/leaving.h"

#include <algorithm>

namespace deadrank::results::detectors {

bool had_worked(const Evidence& evidence, int attempt, Rank process, Time before) {
    const Lives& lives = evidence.facts<Lives>();
    const Life* life = lives.find(attempt, process);
    if (!life || life->step < 0) return false;
    // Events are in order of time: nearly every rendezvous lies before the first step, and costs one look.
    const auto steps = evidence.each<StepBegin>();
    const Time begin = lives.begins(attempt);
    auto step =
        std::partition_point(steps.begin(), steps.end(), [&](const Event* each) { return each->at < begin; });
    for (; step != steps.end() && (*step)->at < before; ++step) {
        if ((*step)->rank == process) return true;
    }
    return false;
}

std::vector<Leaving> leaving_of(const Evidence& evidence, int attempt) {
    const Lives& lives = evidence.facts<Lives>();
    std::vector<Leaving> all;
    for (const Event* event : evidence.each<RendezvousEnter>()) {
        if (lives.attempt_at(event->at) != attempt) continue;
        if (had_worked(evidence, attempt, event->rank, event->at)) all.push_back({event->rank, event->at});
    }
    for (const Event* event : evidence.each<RendezvousLeave>()) {
        for (Leaving& one : all) {
            if (one.process == event->rank && event->at >= one.entered)
                one.left = std::min(one.left, event->at);
        }
    }
    return all;
}

}  // namespace deadrank::results::detectors
