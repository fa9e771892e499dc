// results/analysis/dealt_samples.h — Samples that a loader deals out to ranks, told apart by what they hold.
// The index of a sample may be a rank's own; two ranks that read one sample find one content.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "results/record/evidence.h"

namespace deadrank::results::analysis {

// Of RankConfig: the shares into which a rank's loader deals its samples out, and the batches of a share in
// an epoch, as in "2 in 16" and "2 in 16, shuffled".
inline constexpr std::string_view data_shares = "data.shares";

struct Dealing {
    std::int64_t shares =
        1;  // into which it deals its samples out; 1: it deals nothing out, and all ranks train one model
    std::int64_t batches = 0;  // of a share in an epoch; 0 if that is not known
    bool shuffled = false;
};

std::map<Rank, Dealing> find_dealings(const Evidence& evidence, int attempt);

struct SharedSamples {
    const Event* first = nullptr;               // the first batch that shows it; null: no sample is shared
    std::map<Rank, std::set<Rank>> partners{};  // who read what the rank read
    std::string says{};
};

// Samples of one epoch that more ranks read than one share has. `replicas`: for each rank the lowest one that
// computes the same samples.
//
// What counts as one sample: with indices, the same content under the same index; or the same content under
// several indices, for a fifth of a rank's samples. Without indices, half of a batch in the same step. Where
// nothing is dealt out, a whole batch in the same order, in two steps. A loader that reads a sample twice by
// itself draws with replacement: nothing is found then.
//
// Example: ranks 0 and 1 have 2 shares. Rank 0 reads samples 0,2 in step 0, rank 1 reads 0,2 too: both took
// share 0.
SharedSamples find_shared_samples(const Evidence& evidence, int attempt, const std::vector<Rank>& replicas);

// For each attempt, the epoch in which its first pass through the data is; nothing for an attempt of which
// that is not known. A program counts its passes from 0 again after a restart. Example: a share has 8
// batches, a step takes one, and the attempt resumes at step 11: its first pass is epoch 1.
std::map<int, std::int64_t> find_first_epochs(const Evidence& evidence);

}  // namespace deadrank::results::analysis
