// results/analysis/unset_key.h — Who was to set a key of the store for which others waited in vain.
#pragma once

#include <vector>

#include "results/analysis/complaints.h"

namespace deadrank::results::analysis {

// A key that was never set is missed by those who came to the wait. Whoever has neither come there nor gone
// beyond it, to a call that waits for the others or to a later step, is the one to set it. Example: ranks 1-7
// wait for a key, and rank 0, which sets it, still prepares its data. Empty unless these are the fewer, or
// the job has no other ranks.
std::vector<Rank> find_ranks_due_to_set_key(const Evidence& evidence, const Complaint& complaint);

}  // namespace deadrank::results::analysis
