// results/external/answer.h — What a detector wrote on its standard output, read strictly: one JSON object
// per line, each a finding; only the first may say who the detector is.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "results/record/evidence.h"
#include "results/record/finding.h"
#include "scenarios/model/error.h"

namespace deadrank::results::external {

struct Answer {
    std::string name, version;          // as the detector calls itself; may be empty
    std::vector<std::string> symptoms;  // what it says it can report; may be empty
    std::vector<Finding> findings;
};

// What a finding may name.
struct Limits {
    std::vector<std::string> symptoms;  // ids of the taxonomy; empty = any
    std::int32_t world_size = 0;        // ranks are below it; 0 = any
    Time observed_until{0};             // nothing can be known later; a finding without time gets this one
};

// Errors: bad_input with the line's number, for the first line that is not a finding.
scenarios::Result<Answer> read_answer(std::string_view output, const Limits& limits);

}  // namespace deadrank::results::external
