// runners/studies/print.h — What two plays of one trial must have in common, small enough to be sent from
// one process to another: hashes of what happened, of what was noticed, and the verdict.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runners/line/line.h"

namespace deadrank::runners {

struct RunPrint {
    std::uint64_t trace_hash = 0, ranks = 0, evidence = 0, findings = 0;
    std::uint64_t events = 0;  // of the trace
    std::vector<std::uint64_t> checkpoints;
    std::string verdict;  // with its reason; empty: this variant was not played

    bool operator==(const RunPrint&) const = default;
};

struct TrialPrint {
    std::string scenario;
    std::uint64_t seed = 1;
    std::string verdict;           // of all three runs
    std::array<RunPrint, 3> runs;  // by scenarios::Variant

    std::uint64_t events() const;
};

TrialPrint print_of(const Trialled& trialled);

// A line of JSON and back; nothing, when the text is no such line.
std::string to_line(const TrialPrint& print);
std::optional<TrialPrint> print_from_line(std::string_view line);

// The first thing in which they disagree.
struct Disagreement {
    scenarios::Variant variant = scenarios::Variant::fault;
    std::string what;  // "events", "evidence", "findings", "verdict"
};
std::optional<Disagreement> disagreement(const TrialPrint& one, const TrialPrint& other);

}  // namespace deadrank::runners
