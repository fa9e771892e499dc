// results/reports/trace.h — A run as a trace for Perfetto (ui.perfetto.dev) and chrome://tracing: nodes are
// processes, ranks are threads, arrows join a collective's members from the last that came.
#pragma once

#include <string>
#include <vector>

#include "results/record/evidence.h"
#include "results/record/finding.h"
#include "results/record/truth.h"

namespace deadrank::results::reports {

inline constexpr std::size_t trace_events_most = 400'000;  // what Perfetto opens in seconds

struct Trace {
    std::string json;
    std::size_t events = 0;
    std::string left_out;  // in words; empty when everything is in it
};

// Ranks at fault come first when not all fit. `truth` may be absent.
Trace trace_of(const Evidence& evidence, const std::vector<Finding>& findings, const Truth* truth,
               std::size_t events_most = trace_events_most);

}  // namespace deadrank::results::reports
