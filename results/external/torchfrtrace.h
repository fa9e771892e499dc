// results/external/torchfrtrace.h — PyTorch's Flight Recorder analyser as a detector, and its report as
// findings.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "results/detectors/detector.h"
#include "results/external/bounded.h"

namespace deadrank::results::external {

// One block of its report.
struct FlightRecorderProblem {
    enum class Kind { mismatch, state, missing, totals, undecided };
    Kind kind = Kind::mismatch;
    std::int64_t seq = 0;
    std::string group, collective;  // as printed: "0:default_pg", "nccl:all_reduce"
    std::vector<Rank> culprits;     // ascending; ranks as the dump's files are numbered
    std::string says;               // its error message, or the headline

    bool operator==(const FlightRecorderProblem&) const = default;
};

std::vector<FlightRecorderProblem> read_flight_recorder_report(std::string_view text);

class Torchfrtrace final : public Detector {
public:
    // Errors: environment, when there is no torch that has it.
    static scenarios::Result<Torchfrtrace> find(const Bounds& bounds = {});

    std::string_view name() const override { return "torchfrtrace"; }
    std::vector<std::string_view> symptoms() const override;
    std::vector<Finding> examine(const Evidence& evidence) const override;

    const std::string& version() const { return version_; }  // of torch
    // What it printed about the dumps in this directory. Errors: environment, with its last words, when it
    // ended with another code than 0.
    scenarios::Result<std::string> report(const std::string& directory, const std::string& prefix) const;

private:
    std::string python_, version_;
    Bounds bounds_;
};

}  // namespace deadrank::results::external
