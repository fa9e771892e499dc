// scenarios/format/skeleton.h — A new scenario file to start from: it loads as it is, and its comments say
// what to write where.
#pragma once

#include <cstdint>
#include <string>

#include "scenarios/model/vocabulary.h"

namespace deadrank::scenarios {

struct SkeletonOptions {
    std::string id;        // "communication/rank_leaves_all_reduce"
    std::string symptom;   // id
    std::string fault;     // kind
    std::string cause;     // id; empty = the most reported one of the symptom
    std::string fix;       // id; empty = the most frequent one of that cause
    std::string workload;  // kind; empty = the first of the vocabulary
    std::string program = {};  // a file beside the scenario: the fixed program, of the workload python
    std::string patch = {};    // a file beside it: the bug; then there is no fault
    std::string recording = {};  // a file beside it, of the workload recording
    int nodes = 2, ranks_per_node = 4;
    std::int64_t steps = 8;  // that the workload makes: the fault acts in the middle of them
};

// Errors: usage, for an id that is not stage/name and for every unknown word, with the nearest known one.
Result<std::string> skeleton(const SkeletonOptions& wish, const Taxonomy& taxonomy,
                             const Vocabulary& vocabulary);

}  // namespace deadrank::scenarios
