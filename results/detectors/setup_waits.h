// results/detectors/setup_waits.h — For which ranks a set-up waits, and whether a call of their own holds
// them.
#pragma once

#include <set>

#include "results/analysis/calls.h"
#include "results/analysis/waits.h"

namespace deadrank::results::detectors {

// Processes that the creation of the communicator still waits for.
std::set<Rank> find_members_that_never_joined(const Evidence& evidence, const analysis::Communicator& comm);

// Whether a rank that a set-up waits for is held up elsewhere: it has waited in a call since `by` or longer,
// and none of `at_setup` is missing there, directly or through others. Example: ranks 2 and 3 wait for ranks
// 0 and 1 to create two groups. Ranks 0 and 1 wait in an all-reduce of their own, of which rank 1 left one
// out. That all-reduce is the cause, and its finding names rank 1.
bool is_held_by_call(const analysis::Waits& waits, Rank rank, const std::set<Rank>& at_setup, Time by);

}  // namespace deadrank::results::detectors
