// results/reports/otlp.h — A run as OpenTelemetry spans (OTLP/JSON): one trace for each run, with a span for the
// job, and below it one for each rank, step, phase and call.
#pragma once

#include <string>
#include <vector>

#include "results/record/evidence.h"
#include "results/record/finding.h"
#include "results/record/truth.h"

namespace deadrank::results::reports {

inline constexpr std::size_t spans_most = 100'000;  // of one run

// What a trace says of itself, as attributes of its resource.
struct TracedRun {
    std::string name;  // the scenario's id, or the faults
    std::string variant, runner, verdict, reason, version;
    std::uint64_t seed = 0, trace_hash = 0;
    Time epoch{0};  // when virtual time 0 was, in nanoseconds since 1970
};

// An element of `resourceSpans`. Faults and alarms are events of the job's span, checkpoints and errors of the rank's.
// `truth` may be absent. Calls that never ended end with the observation, and have the status error.
std::string resource_spans(const TracedRun& run, const Evidence& evidence, const std::vector<Finding>& findings,
                           const Truth* truth, std::size_t most = spans_most);

}  // namespace deadrank::results::reports
