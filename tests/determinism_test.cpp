// tests/determinism_test.cpp — One plan is one run: played twice in one process, on two threads' stages, and
// in a process of its own, it gives the same trace hash, the same events and the same findings.
#include <array>
#include <cstdio>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "runners/pipeline/campaign.h"
#include "runners/pipeline/excerpt.h"
#include "tests/support/catalog.h"

namespace deadrank {
namespace {

struct Close {
    void operator()(FILE* pipe) const { pclose(pipe); }
};

std::map<std::string, std::string> hashes_of_another_process(const tests::ShippedCatalog& catalog) {
    std::string command = fmt::format("{}/deadrank run --json --seed 1 --catalog {}/scenarios/catalog",
                                      DEADRANK_BINARY_DIRECTORY, DEADRANK_SOURCE_DIRECTORY);
    for (const scenarios::Scenario& scenario : catalog.scenarios) command += " " + scenario.id;
    command += " 2>&1";
    std::unique_ptr<FILE, Close> pipe(popen(command.c_str(), "r"));
    std::string text;
    std::array<char, 4096> part{};
    while (pipe && std::fgets(part.data(), part.size(), pipe.get())) text += part.data();
    std::map<std::string, std::string> hashes;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        const auto line = nlohmann::json::parse(text.substr(at, end - at), nullptr, false);
        if (line.is_object()) hashes[line.value("scenario", "")] = line.value("trace_hash", "");
        at = end + 1;
    }
    return hashes;
}

// Goal: nothing outside the plan reaches a run. On a difference, the first differing event is named.
TEST(Determinism, PlayingAPlanTwiceGivesTheSameEvents) {
    const tests::ShippedCatalog catalog;
    runners::SimRunner first, second;
    for (const scenarios::Scenario& scenario : catalog.scenarios) {
        const auto then = runners::play(scenario, {7}, first, catalog.vocabulary);
        const auto now = runners::play(scenario, {7}, second, catalog.vocabulary);
        ASSERT_TRUE(then.fault && now.fault) << scenario.id << ": " << then.outcome.reason;
        EXPECT_EQ(then.fault->record.trace_hash, now.fault->record.trace_hash)
            << scenario.id << ": "
            << runners::first_difference(then.fault->record.evidence, now.fault->record.evidence);
        EXPECT_EQ(then.fault->record.rank_hashes, now.fault->record.rank_hashes) << scenario.id;
        EXPECT_TRUE(then.fault->findings == now.fault->findings) << scenario.id;
    }
}

// Goal: a process of its own, with other addresses and another history, plays the same runs.
TEST(Determinism, AnotherProcessGivesTheSameHashes) {
    const tests::ShippedCatalog catalog;
    const auto theirs = hashes_of_another_process(catalog);
    runners::SimRunner sim;
    for (const scenarios::Scenario& scenario : catalog.scenarios) {
        const auto ours = runners::play(scenario, {1}, sim, catalog.vocabulary);
        ASSERT_TRUE(ours.fault) << scenario.id;
        const auto found = theirs.find(scenario.id);
        ASSERT_NE(found, theirs.end()) << scenario.id << " was not played by the other process";
        EXPECT_EQ(found->second, fmt::format("{:016x}", ours.fault->record.trace_hash)) << scenario.id;
    }
}

// Goal: how seeds are spread over threads changes nothing, not even the order of outcomes.
TEST(Determinism, ThreadsDoNotChangeOutcomes) {
    const tests::ShippedCatalog catalog;
    std::vector<runners::Job> jobs;
    for (const auto& scenario : catalog.scenarios) jobs.push_back({&scenario, {3}});
    const auto hashes_with = [&](int threads) {
        std::vector<std::string> hashes;
        runners::CampaignOptions options;
        options.threads = threads;
        runners::play_all(
            jobs, [] { return std::make_unique<runners::SimRunner>(); }, catalog.vocabulary, options,
            [&](results::Case&& outcome) { hashes.push_back(outcome.token); });
        return hashes;
    };
    EXPECT_EQ(hashes_with(1), hashes_with(3));
}

}  // namespace
}  // namespace deadrank
