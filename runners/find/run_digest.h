// runners/find/run_digest.h — What two runs of one trial must have in common, and where two runs that should
// be equal diverge.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runners/backend/runner.h"
#include "runners/pipeline/play_trial.h"

namespace deadrank::runners::find {

struct RunDigest {
    std::uint64_t trace_hash = 0, ranks = 0, evidence = 0, findings = 0;
    std::uint64_t events = 0;  // of the trace
    std::vector<std::uint64_t> checkpoints;
    std::string verdict;  // with its reason; empty: this variant was not played

    bool operator==(const RunDigest&) const = default;
};

struct TrialDigest {
    std::string scenario;
    std::uint64_t seed = 1;
    std::string verdict;            // of all three runs
    std::array<RunDigest, 3> runs;  // by scenarios::Variant

    std::uint64_t events() const;
};

TrialDigest digest_trial(const Trialled& trialled);

// To a line of JSON and back; nothing if the text is not such a line.
std::string to_line(const TrialDigest& print);
std::optional<TrialDigest> parse_trial_digest(std::string_view line);

// The first thing in which two prints disagree.
struct Disagreement {
    scenarios::Variant variant = scenarios::Variant::fault;
    std::string what;  // "events", "evidence", "findings", "verdict"
};
std::optional<Disagreement> disagreement(const TrialDigest& one, const TrialDigest& other);

// ── Where two runs that should be equal diverge. Bisects the checkpoints for the window of the first
// difference, then plays both runs again with that window watched.

struct Window {
    std::uint64_t first = 0, last = 0;  // events of the trace: [first, last)
};

// A run with a window watched.
struct Traced {
    std::vector<std::uint64_t> checkpoints;
    std::vector<TraceEvent> watched;
    std::vector<std::string> evidence;  // lines from the time of the window
};
Traced traced(const Record& record);
std::string to_line(const Traced& traced);
std::optional<Traced> traced_from_line(std::string_view line);

// One side of the comparison: plays the plan again, here or in another process.
using Tracer = std::function<scenarios::Result<Traced>(const Window&)>;

struct Divergence {
    std::optional<TraceEvent> one, other;      // absent: that run had ended
    std::string evidence_one, evidence_other;  // the first line of evidence that differs near it; may be none
};

// Nothing if the runs were equal every time they were played again.
scenarios::Result<std::optional<Divergence>> find_first_divergence(const Tracer& one, const Tracer& other);

// "event 57 at 0.1 s, rank 3, value.sample"
std::string text_of(const std::optional<TraceEvent>& event);

}  // namespace deadrank::runners::find
