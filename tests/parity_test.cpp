// tests/parity_test.cpp — The simulator and real processes, on the same scenarios: do the same findings come
// of both? Times and texts may differ. Where findings do, the scenario's [parity] says why, or the test
// fails.
#include <algorithm>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <iostream>
#include <set>

#include "runners/line.h"
#include "runners/local/local_runner.h"
#include "runners/local/python.h"
#include "runners/mpi/mpi_runner.h"
#include "runners/scale.h"
#include "runners/sim/runner.h"
#include "runners/sim/vocabulary.h"

namespace deadrank {
namespace {

namespace fs = std::filesystem;

// What is compared: who is said to be ill, and of what.
std::set<std::string> diagnosis(const runners::Trialled& trialled) {
    std::set<std::string> said;
    if (!trialled.fault) return said;
    for (const results::Finding& finding : trialled.fault->findings) {
        results::Blame blame;
        blame.ranks = finding.blame.ranks;
        said.insert(fmt::format("{} ({})", finding.symptom, blame.text()));
    }
    return said;
}

std::string listed(const std::set<std::string>& words) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
    return text.empty() ? "nothing" : text;
}

std::vector<scenarios::Scenario> played_for_real(const scenarios::Vocabulary& vocabulary,
                                                 const std::string& backend) {
    const fs::path source(DEADRANK_SOURCE_DIRECTORY);
    const auto taxonomy = scenarios::Taxonomy::load(source / "scenarios" / "taxonomy.toml");
    if (!taxonomy) throw std::runtime_error(taxonomy.error().text());
    auto catalog = scenarios::load_catalog(source / "scenarios" / "catalog", *taxonomy, vocabulary);
    if (!catalog) throw std::runtime_error(catalog.error().text());
    std::vector<scenarios::Scenario> real;
    for (scenarios::Scenario& scenario : catalog->scenarios) {
        const auto& backends = scenario.backends;
        if (std::count(backends.begin(), backends.end(), backend) > 0) real.push_back(std::move(scenario));
    }
    return real;
}

struct Comparison {
    std::size_t least = 1;           // scenarios that must be there
    std::int64_t ranks_most = 1024;  // larger ones are played on that many, by both
};

// The simulator's diagnosis is reality's, or the scenario explains the difference. The rate is printed.
void compare(runners::Runner& reality, const Comparison& comparison) {
    const std::string backend(reality.name());
    const scenarios::Vocabulary vocabulary = runners::vocabulary();
    const auto scenarios = played_for_real(vocabulary, backend);
    runners::SimRunner sim;
    runners::LineOptions options;
    options.control = options.healed = false;
    std::size_t agreed = 0, played = 0;
    for (const scenarios::Scenario& written : scenarios) {
        const auto own = scenarios::resolve(written, {1}, sim.capabilities(), vocabulary);
        const bool large = own && own->fault.world_size() > comparison.ranks_most;
        const scenarios::Scenario scenario =
            large ? runners::scaled(written, comparison.ranks_most) : written;
        const std::string scale = large ? fmt::format(" --ranks {}", comparison.ranks_most) : "";
        SCOPED_TRACE(fmt::format("deadrank run --runner {} {}{}", backend, scenario.id, scale));
        const auto simulated = runners::play(scenario, {1}, sim, vocabulary, options);
        const auto real = runners::play(scenario, {1}, reality, vocabulary, options);
        if (!real.fault) {  // this machine cannot: said, never counted
            std::cout << scenario.id << ": not played for real: " << real.outcome.reason << "\n";
            continue;
        }
        const auto expected = diagnosis(simulated), seen = diagnosis(real);
        ++played;
        agreed += expected == seen;
        const auto reason = scenario.parity.find(backend);
        const bool explained = reason != scenario.parity.end() && !reason->second.empty();
        std::cout << scenario.id << ": "
                  << (expected == seen ? "agree"
                      : explained      ? "differ, explained"
                                       : "DIFFER")
                  << "\n    simulated: " << listed(expected) << "\n    real:      " << listed(seen) << "\n";
        EXPECT_TRUE(expected == seen || explained)
            << "simulated: " << listed(expected) << "; real: " << listed(seen);
    }
    std::cout << fmt::format("{} of {} scenarios have the same findings in sim and {} ({} %)\n", agreed,
                             played, backend, played > 0 ? agreed * 100 / played : 0);
    EXPECT_GE(played, comparison.least);
}

TEST(DeviceParity, RealProcessesAndTheSimulatorAgreeOnFindings) {
    if (const auto python = runners::best_python(); !python) GTEST_SKIP() << python.error().text();
    runners::LocalRunner local;
    compare(local, {.least = 6});
}

TEST(DeviceParity, MpiRanksAndTheSimulatorAgreeOnFindings) {
    if (const auto there = runners::mpi_is_there(); !there) GTEST_SKIP() << there.error().text();
    runners::MpiRunner mpi;
    compare(mpi, {.least = 20, .ranks_most = 4});
}

}  // namespace
}  // namespace deadrank
