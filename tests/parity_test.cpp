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

std::vector<scenarios::Scenario> played_for_real(const scenarios::Vocabulary& vocabulary) {
    const fs::path source(DEADRANK_SOURCE_DIRECTORY);
    const auto taxonomy = scenarios::Taxonomy::load(source / "scenarios" / "taxonomy.toml");
    if (!taxonomy) throw std::runtime_error(taxonomy.error().text());
    auto catalog = scenarios::load_catalog(source / "scenarios" / "catalog", *taxonomy, vocabulary);
    if (!catalog) throw std::runtime_error(catalog.error().text());
    std::vector<scenarios::Scenario> real;
    for (scenarios::Scenario& scenario : catalog->scenarios) {
        const auto& backends = scenario.backends;
        if (std::count(backends.begin(), backends.end(), "local") > 0) real.push_back(std::move(scenario));
    }
    return real;
}

// Goal: the simulator's diagnosis is reality's, or the scenario explains the difference. The rate is printed.
TEST(DeviceParity, RealProcessesAndTheSimulatorAgreeOnFindings) {
    if (const auto python = runners::best_python(); !python) GTEST_SKIP() << python.error().text();
    const scenarios::Vocabulary vocabulary = runners::vocabulary();
    const auto scenarios = played_for_real(vocabulary);
    ASSERT_GE(scenarios.size(), 6u);
    runners::SimRunner sim;
    runners::LocalRunner local;
    runners::LineOptions options;
    options.control = options.healed = false;
    std::size_t agreed = 0;
    for (const scenarios::Scenario& scenario : scenarios) {
        SCOPED_TRACE(fmt::format("deadrank run --runner local {}", scenario.id));
        const auto simulated = runners::play(scenario, {1}, sim, vocabulary, options);
        const auto real = runners::play(scenario, {1}, local, vocabulary, options);
        if (!real.fault) {  // this machine cannot: said, never counted
            std::cout << scenario.id << ": not played for real: " << real.outcome.reason << "\n";
            continue;
        }
        const auto expected = diagnosis(simulated), seen = diagnosis(real);
        agreed += expected == seen;
        const auto reason = scenario.parity.find("local");
        const bool explained = reason != scenario.parity.end() && !reason->second.empty();
        std::cout << scenario.id << ": "
                  << (expected == seen ? "agree"
                      : explained      ? "differ, explained"
                                       : "DIFFER")
                  << "\n    simulated: " << listed(expected) << "\n    real:      " << listed(seen) << "\n";
        EXPECT_TRUE(expected == seen || explained)
            << "simulated: " << listed(expected) << "; real: " << listed(seen);
    }
    std::cout << fmt::format("{} of {} scenarios have the same findings in both\n", agreed, scenarios.size());
}

}  // namespace
}  // namespace deadrank
