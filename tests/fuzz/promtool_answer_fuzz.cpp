// tests/fuzz/promtool_answer_fuzz.cpp — Promise: whatever promtool prints is read.
#include "results/external/promtool.h"
#include "tests/fuzz/target.h"

FUZZ_TARGET(promtool_answer) {
    const std::string words(text);
    const auto out = results::external::read_test_output(1, words, "");
    const auto errors = results::external::read_test_output(1, "", words);
    const auto samples = results::external::read_samples(text);
    return samples || !out.mismatches.empty() || !errors.load.empty() || !errors.rules.empty();
}
