// results/facts/leaving.h — The meeting at the end of a job: a rendezvous that a process enters
// after it has worked. What it waits for there is not a beginning.
#pragma once

#include <vector>

#include "results/facts/lives.h"

namespace deadrank::results::detectors {

struct Leaving {
    Rank process = no_rank;
    Time entered{0};
    Time left = never;
};

// Of one attempt, in the order in which they came.
std::vector<Leaving> leaving_of(const Evidence& evidence, int attempt);

// Did this process begin a step, in this attempt, before that moment?
bool had_worked(const Evidence& evidence, int attempt, Rank process, Time before);

}  // namespace deadrank::results::detectors
