// runners/suites/suite.h — Scenarios for a user's own test program: open a directory of them, play one under
// a seed, print the story of what went wrong. Independent of test frameworks; gtest.h is for GoogleTest.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "results/judging/case.h"
#include "runners/backend/extension.h"
#include "scenarios/model/scenario.h"

namespace deadrank::runners::suites {

struct SuiteOptions {
    std::filesystem::path scenarios;  // a file, or a directory of them
    std::filesystem::path data;       // contains taxonomy.toml; DEADRANK_DATA of the installed package
    std::string runner = "sim";       // sim or local
    std::filesystem::path out = {};   // each run's files go below it; empty = not kept
    Extension extension = {};         // the user's own workloads and detectors
};

// play() may be called from several threads; each call has its own simulation.
class Suite {
public:
    // Errors: io and bad_input with file, line and column; unsupported for an unknown runner.
    static scenarios::Result<Suite> open(const SuiteOptions& options);
    ~Suite();
    Suite(Suite&&) noexcept;
    Suite& operator=(Suite&&) noexcept;

    const std::vector<scenarios::Scenario>& scenarios() const;

    // Never fails: if it cannot be played, the verdict is unknown, with the reason.
    results::Case play(const scenarios::Scenario& scenario, std::uint64_t seed) const;

private:
    struct Inside;
    explicit Suite(std::unique_ptr<const Inside> inside);
    std::unique_ptr<const Inside> inside_;
};

// What was expected, what was reported, the evidence around it, and the command that plays it again. Plain
// text.
std::string story_of(const results::Case& one);

}  // namespace deadrank::runners::suites
