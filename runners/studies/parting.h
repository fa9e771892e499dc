// runners/studies/parting.h — Where two runs that should be one run part. Checkpoints are bisected for
// the window of the first difference; both runs are then played again with that window watched.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runners/runner/runner.h"

namespace deadrank::runners {

struct Window {
    std::uint64_t first = 0, last = 0;  // events of the trace: [first, last)
};

// A run with a window watched.
struct Traced {
    std::vector<std::uint64_t> checkpoints;
    std::vector<TraceEvent> watched;
    std::vector<std::string> evidence;  // lines of the time that the window covers
};
Traced traced(const Record& record);
std::string to_line(const Traced& traced);
std::optional<Traced> traced_from_line(std::string_view line);

// One side of the comparison: plays the plan again, here or in another process.
using Tracer = std::function<scenarios::Result<Traced>(const Window&)>;

struct Parting {
    std::optional<TraceEvent> one, other;      // nothing: that run had ended
    std::string evidence_one, evidence_other;  // the first line of evidence that differs near it; may be none
};

// Nothing: the runs were the same whenever they were played again.
scenarios::Result<std::optional<Parting>> find_parting(const Tracer& one, const Tracer& other);

// "event 57 at 0.1 s, rank 3, value.sample"
std::string text_of(const std::optional<TraceEvent>& event);

}  // namespace deadrank::runners
