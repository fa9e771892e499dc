// results/facts/findings.h — Words and blame that all detectors say alike.
#pragma once

#include <string>
#include <vector>

#include "results/facts/lives.h"
#include "results/record/evidence.h"
#include "results/record/finding.h"

namespace deadrank::results::detectors {

// "rank 3", "ranks 0-2,5"; "no rank" when there is none.
std::string ranks_text(const std::vector<Rank>& ranks);

// Sorted, each once, no_rank left out.
std::vector<Rank> sorted(std::vector<Rank> ranks);

// Blames these ranks, and their nodes where the ranks are all of them.
Blame blame_ranks(const Lives& lives, std::vector<Rank> ranks);

// The first 8 bytes of a digest as 16 hex digits.
std::string digest_text(std::uint64_t digest);

}  // namespace deadrank::results::detectors
