// results/facts/siblings.h — Groups of one name do the same thing side by side. Who does not do
// what its siblings do, the members of the same place in the other groups, stands out even on the first step.
#pragma once

#include <vector>

#include "results/facts/calls.h"

namespace deadrank::results::detectors {

// Members whose calls, collectives and messages, part from those of every sibling: neither began the other's
// list. Empty without siblings, and when all of them do.
std::vector<Rank> unlike_siblings(const Evidence& evidence, const Communicator& comm, Time when);

}  // namespace deadrank::results::detectors
