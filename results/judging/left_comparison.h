// results/judging/left_comparison.h — Compares what a run leaves with what the healthy run leaves.
#pragma once

#include <filesystem>
#include <string>

#include "results/record/left_files.h"

namespace deadrank::results {

enum class LeftDifference {
    none,
    lost_checkpoint,  // a file of tensors is not there, or cannot be read
    other_result,     // a file of tensors holds other values, or any other file is not there or empty
};

struct LeftComparison {
    LeftDifference what = LeftDifference::none;
    std::string says;  // "it leaves model.pt with other values than the healthy run: fc.weight (1 of 4 tensors)"
};

// The worst difference, and how many more files differ. Names are shown relative to `directory`. Bytes of files that
// hold no tensors are not compared: logs hold times.
LeftComparison compare_left_files(const LeftFiles& seen, const LeftFiles& healthy,
                                  const std::filesystem::path& directory);

}  // namespace deadrank::results
