// results/analysis/stream_races.h — Two kernels of one rank use a tensor in two streams, one of them writes, and
// nothing orders them. Torch's CUDA Stream Sanitizer (TORCH_CUDA_SANITIZER=1) prints both with their stacks.
#pragma once

#include <string>
#include <vector>

#include "results/analysis/program_lines.h"
#include "results/record/evidence.h"

namespace deadrank::results::analysis {

struct StreamAccess {
    std::string kernel;  // "aten::sum"
    bool writes = false;
    bool in_default_stream = false;
    ProgramLine line;  // number 0: no frame of the stack is the program's
};

struct StreamRace {
    Rank rank = 0;
    Time at{0};
    StreamAccess now, before;

    // "aten::sum at train.py:19 buf.add_(…) reads a tensor in a side stream, and nothing makes it wait for …"
    std::string text() const;
};

// The first race of each rank, in the order of the ranks.
std::vector<StreamRace> find_stream_races(const Evidence& evidence);

}  // namespace deadrank::results::analysis
