// scenarios/model/python_program.h — The workload `python`: each rank runs a program of plain Python with
// torch. The scenario has the fixed program; the bug is a patch of it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "scenarios/model/error.h"
#include "scenarios/model/kind_ids.h"
#include "scenarios/model/vocabulary.h"

namespace deadrank::scenarios {

inline constexpr const char* python_workload = "python";
inline constexpr const char* patch_fault = id_of(FaultId::patch_program);

// Its settings: the program's text, and whether its ranks have simulated GPUs.
const Kind& python_kind();

// Adds to `kind` the names that a program passes to seam() and block() as texts.
void add_program_words(std::string_view program, Kind& kind);

// Why a patch does not apply, and in which of its lines, counted from 1.
struct PatchMistake {
    std::int64_t line = 1;
    std::string what, remedy;
};

// Applies a unified diff of one file. A hunk's numbers may be left out: `@@` alone. Its lines are looked for
// in the program from the hunk before on, and must be there exactly once, unless numbers choose among several
// places.
// `name`: how a mistake calls the program.
tl::expected<std::string, PatchMistake> apply_patch(std::string_view program, std::string_view patch,
                                                    std::string_view name = "the program");

// The patch that takes this one back.
std::string reverse_patch(std::string_view patch);

// What a patch changes in one file.
struct FilePatch {
    std::string file;          // "torch/optim/sgd.py" of an installed package; empty: the scenario's program
    std::int64_t first = 1;    // line of the patch in which it begins
    std::string_view text;     // a unified diff of that file
};

// A patch may change several files, each below a line `+++ b/torch/optim/sgd.py`. `a/`, `b/` and `src/` in front
// of the package are no part of the path. A name without a directory, or none, is the program.
tl::expected<std::vector<FilePatch>, PatchMistake> split_patch(std::string_view patch);

}  // namespace deadrank::scenarios
