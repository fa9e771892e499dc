// results/facts/fingerprints.h — What c10d under TORCH_DISTRIBUTED_DEBUG=DETAIL prints of a rank's
// own call when calls do not match. Each rank compares itself with the first that differs, so one text alone
// names two ranks and no culprit; all of them together do.
#pragma once

#include <string_view>
#include <vector>

#include "results/facts/outbreaks.h"

namespace deadrank::results::detectors {

struct OddFingerprint {
    std::vector<Rank> odd = {};     // processes, ascending; none when no call was that of more than half
    std::string_view usual = {};    // "SequenceNumber=20, OpType=ALLREDUCE, TensorShape=[16]"
    std::string_view unusual = {};  // of the first odd one

    explicit operator bool() const { return !odd.empty(); }
};

OddFingerprint odd_fingerprint(const Evidence& evidence, const Outbreak& outbreak);

}  // namespace deadrank::results::detectors
