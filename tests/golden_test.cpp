// tests/golden_test.cpp — What each scenario does under seed 1, kept as text: a change of any event changes
// the hash in the first lines, and the lines below show where to look. Rewritten by UPDATE_GOLDEN=1, reviewed
// as a diff.
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <sstream>

#include "tests/support/catalog.h"

namespace deadrank {
namespace {

namespace fs = std::filesystem;

// Kept small on purpose: the hash stands for every byte of the log, these lines for the eye.
constexpr std::size_t lines_kept = 24;

std::string golden_text(const scenarios::Scenario& scenario, const runners::Played& played) {
    const auto& record = played.record;
    std::string text = fmt::format("{} seed 1\n{} events, trace hash {:016x}, ended at {} ns\n", scenario.id,
                                   record.events, record.trace_hash, record.ended.count());
    std::map<std::string, std::size_t> kinds;
    for (const auto& event : record.evidence.events()) ++kinds[std::string(results::kind_name(event))];
    for (const auto& [kind, count] : kinds) text += fmt::format("  {} × {}\n", kind, count);
    text += "from the fault on:\n";
    const results::Time fault = record.truth.first_fault();
    std::size_t kept = 0;
    for (const auto& event : record.evidence.events()) {
        if (event.at < fault || kept == lines_kept) continue;
        text += "  " + to_json_line(record.evidence, event) + "\n";
        ++kept;
    }
    text += "noticed:\n";
    for (const auto& finding : played.findings) {
        text += fmt::format("  {} ns {}: {} [{}]\n", finding.at.count(), finding.symptom, finding.says,
                            finding.blame.text());
    }
    return text;
}

// Goal: the simulator and the detectors say today what they said when somebody last read it.
TEST(Golden, EveryScenarioPlaysAsItWasRead) {
    const tests::ShippedCatalog catalog;
    const fs::path golden = fs::path(DEADRANK_SOURCE_DIRECTORY) / "tests" / "golden";
    const bool update = std::getenv("UPDATE_GOLDEN") != nullptr;
    runners::SimRunner sim;
    runners::PipelineOptions options;
    options.control = options.healed = false;
    for (const auto& scenario : catalog.scenarios) {
        const auto trialled = runners::play(scenario, {1}, sim, catalog.vocabulary, options);
        ASSERT_TRUE(trialled.fault) << scenario.id << ": " << trialled.outcome.reason;
        const std::string now = golden_text(scenario, *trialled.fault);
        const fs::path file = golden / (scenario.id + ".txt");
        if (update) {
            fs::create_directories(file.parent_path());
            std::ofstream(file) << now;
            continue;
        }
        std::stringstream then;
        then << std::ifstream(file).rdbuf();
        EXPECT_EQ(then.str(), now) << file
                                   << "\nif the change is meant: UPDATE_GOLDEN=1 build/tests/deadrank_tests "
                                      "--gtest_filter=Golden.*";
    }
}

}  // namespace
}  // namespace deadrank
