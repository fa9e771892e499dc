// results/analysis/signatures.h — What the lines of a failed job's log mean, and how much of a log was
// understood.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "results/analysis/phrases.h"

namespace deadrank::results::analysis {

// The first phrase of the table that a finding follows from; nullptr if there is none.
const Phrase* signature_in(std::string_view text);

// "SomethingError: …", "package.module.SomeException: …" at the beginning of a line.
bool begins_with_exception(std::string_view line);

// How much of a job's logs the reader understood. Kept in the evidence as a log line of no rank.
struct LogRead {
    std::int64_t lines = 0, not_understood = 0;
    std::int64_t omitted = 0;  // left out to bound memory
    std::int64_t files = 0;
    std::int64_t orphans = 0;     // tracebacks of unknown rank
    std::int64_t ranks_stated = 0;  // the world size, where a line names it
    std::int64_t stamps = 0;      // lines with a time; 0: no time in the log means anything

    std::string line() const;
    static std::optional<LogRead> of_line(std::string_view line);
};

}  // namespace deadrank::results::analysis
