// results/judging/case.h — One scenario under one seed on one runner, judged; every report is written from
// these. The faulty run, its control (same draws, no fault) and its healed run each have a judgement; the
// worst wins.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "results/judging/judge.h"

namespace deadrank::results {

struct Case {
    std::string scenario;        // id
    std::filesystem::path file;  // of the scenario, if its id alone would not find it again
    std::string runner;          // sim, local, mpi, gpu
    std::uint64_t seed = 1;
    scenarios::Bug bug;
    scenarios::Expectation expect;
    std::string documented;  // why this backend may answer otherwise, from [parity]; empty = it should not

    Verdict verdict = Verdict::unknown;
    std::string reason;
    std::string skipped;  // what this machine lacks to play it: it counts neither way; empty = it was played
    std::optional<Judgement> fault, control, healed;  // absent: not played

    std::uint64_t trace_hash = 0;      // of the faulty run; 0 = the backend has none
    std::string token;                 // for `deadrank replay`
    std::vector<std::string> commands;  // that play it again, where it is no scenario's; else empty
    std::vector<std::string> notes;    // the backend's remarks
    std::vector<std::string> excerpt;  // lines of evidence around fault and finding
    std::filesystem::path directory;   // the files of its runs; empty = not kept
    double seconds = 0;                // wall time

    // The worst of the three verdicts, with its reason.
    void conclude();

    // Only the faulty run failed, and [parity] says why it does on this backend.
    bool differs_as_documented() const;
};

// For an error of ours, or a backend that cannot play it: unknown with its reason, never pass.
Case unknown_case(const scenarios::Scenario& scenario, std::uint64_t seed, std::string runner,
                  std::string reason);

}  // namespace deadrank::results
