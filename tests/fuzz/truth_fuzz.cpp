// tests/fuzz/truth_fuzz.cpp — Promise: the truth beside a run is refused with words, or is written and read
// as the same.
#include "results/record/truth.h"
#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/target.h"

FUZZ_TARGET(truth) {
    const MemoryFile file(text);
    const auto truth = results::read_truth(file.path());
    if (!truth) return refused(truth);
    const MemoryFile copy("");
    CHECK(results::write_truth(*truth, copy.path()).has_value());
    const auto again = results::read_truth(copy.path());
    CHECK(again && again->marks == truth->marks && again->ends == truth->ends);
    CHECK(again->waits_for == truth->waits_for && again->waiting == truth->waiting);
    return true;
}
