// runners/suites/suite.h — Scenarios for somebody's own test program: open a directory of them, play one
// under a seed, print the story of what went wrong. Nothing here knows a test framework; gtest.h does.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "results/judging/case.h"
#include "runners/runner/extension.h"
#include "scenarios/model/scenario.h"

namespace deadrank::runners::suites {

struct SuiteOptions {
    std::filesystem::path scenarios;  // a file, or a directory of them
    std::filesystem::path data;       // where taxonomy.toml lies; DEADRANK_DATA of the installed package
    std::string runner = "sim";       // sim or local
    std::filesystem::path out = {};   // each run's files go below it; empty = nowhere
    Extension extension = {};         // workloads and detectors of hers
};

// Safe to play from several threads; each play has a simulation of its own.
class Suite {
public:
    // Errors: io and bad_input with file, line and column; unsupported for an unknown runner.
    static scenarios::Result<Suite> open(const SuiteOptions& options);
    ~Suite();
    Suite(Suite&&) noexcept;
    Suite& operator=(Suite&&) noexcept;

    const std::vector<scenarios::Scenario>& scenarios() const;

    // Never fails: what kept it from being played is an unknown verdict with its sentence.
    results::Case play(const scenarios::Scenario& scenario, std::uint64_t seed) const;

private:
    struct Inside;
    explicit Suite(std::unique_ptr<const Inside> inside);
    std::unique_ptr<const Inside> inside_;
};

// What was due, what was said, the evidence around it, and the command that plays it again. Plain text.
std::string story_of(const results::Case& one);

}  // namespace deadrank::runners::suites
