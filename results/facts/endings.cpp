// results/facts/endings.cpp — The last calls of all ranks against how they left.
#include "results/facts/endings.h"

#include <algorithm>

#include "results/facts/calls.h"
#include "results/facts/lives.h"

namespace deadrank::results::detectors {

bool agreed_to_end(const Evidence& evidence, std::int64_t done) {
    const Lives& lives = evidence.facts<Lives>();
    const int attempt = lives.attempts() - 1;
    Rank left = 0;
    Time last_began{0};
    for (const Life& life : lives.of(attempt)) {
        if (!life.start) continue;
        if (life.ended == never || life.failed() || life.step <= done) return false;
        ++left;
    }
    for (const Event* event : evidence.each<StepBegin>())
        if (event->as<StepBegin>()->step > done) last_began = std::max(last_began, event->at);
    for (const Communicator& comm : evidence.facts<Calls>().communicators()) {
        if (comm.attempt != attempt || std::ssize(comm.processes) != left || comm.collectives.empty())
            continue;
        const auto& calls = comm.collectives.rbegin()->second.calls;
        const bool met =
            std::ssize(calls) == left && std::all_of(calls.begin(), calls.end(), [&](const Call& call) {
                return call.what && call.left != never && call.entered >= last_began;
            });
        if (met) return true;
    }
    return false;
}

}  // namespace deadrank::results::detectors
