// tests/runners/learn/story_claims.h — What a lesson's story claims to be seen, sentence by sentence, and whether
// the lesson shows it.
#pragma once

#include <string>
#include <vector>

#include "runners/learn/lesson.h"

namespace deadrank::tests {

// A sentence of `sees` that the lesson does not bear out, and why.
struct Unseen {
    std::string sentence, why;
};

// Each sentence must make a claim that is known here, and each of its claims must be borne out by what the
// lesson shows: its clues, and what it says of the run. Quoted words must have been printed; counts of ranks
// must be those of a row, a node or the job; a hang needs a call that never ended. What no run of a few
// minutes can show
// ("yesterday", "with one GPU it works", "nvidia-smi hangs") is no claim for `sees` but for `reported`. A
// claim is borne out by a line of a clue that is about it: neither by a clue's title, nor by the name of the
// workload.
std::vector<Unseen> find_unseen(const runners::learn::Lesson& lesson);

// For each claim a sentence that makes it, and a clue's title and line that bear it out; "run": a sentence of
// `seen`; empty: nothing can.
struct ClaimExample {
    std::string sentence, title, line;
};
std::vector<ClaimExample> claim_examples();

}  // namespace deadrank::tests
