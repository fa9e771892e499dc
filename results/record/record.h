// results/record/record.h — One run, as a backend returns it: the evidence, the truth beside it, and the
// backend's remarks on how it played.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "results/record/evidence.h"
#include "results/record/left_files.h"
#include "results/record/truth.h"

namespace deadrank::results {

// One event of the simulator's own trace, of which evidence is a part: who, what, and what identifies it.
struct TraceEvent {
    std::uint64_t index = 0;  // its place in the run, from 0
    Time at{0};
    Rank rank = no_rank;
    std::string what;
    std::uint64_t digest = 0;

    bool operator==(const TraceEvent&) const = default;
};

struct Record {
    Evidence evidence;
    Truth truth;
    std::uint64_t trace_hash = 0;  // over every event; the simulator only
    std::vector<std::uint64_t> rank_hashes;
    std::vector<std::uint64_t> checkpoints;  // global hash after every 4,096 events
    std::uint64_t events = 0;
    std::vector<TraceEvent> watched;  // those that RunOptions::watch asked for
    Time ended{0};                    // virtual or monotonic
    LeftFiles left;  // asked for by RunOptions::left_files
    std::vector<std::string> notes;  // the backend's remarks: which torch, which NCCL, what was skipped
};

}  // namespace deadrank::results
