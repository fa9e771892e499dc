// tests/determinism_command_test.cpp — Goal: `deadrank replay determinism` is quiet on what is deterministic, and
// names the event where a planted workload is not.
#include <cstdio>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "tests/support/shell.h"

namespace deadrank {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr const char* scenario_text = R"(# A scenario around a planted workload.
format = 1
[bug]
stage = "scheduling"
symptom = "straggler_step_time_skew"
cause = "rank_local_slowdown"
fix = "validation_and_failure_handling"
replays = ["example/example#1"]
[cluster]
nodes = 1
gpus_per_node = 4
[workload]
kind = "{}"
[[fault]]
kind = "slow_rank"
rank = 0
factor = "1.5x"
[expect]
symptom = "straggler_step_time_skew"
blames = ["rank"]
within = "2m"
[heal]
fault = "none"
[teach]
title = "Planted"
sees = "…"
question = "…"
hints = ["…", "…"]
answer = "…"
why = "…"
)";

constexpr const char* catalog = DEADRANK_SOURCE_DIRECTORY "/scenarios/catalog";

// The program with planted workloads, on a scenario of one of them.
tests::Answer check_planted(const std::string& workload) {
    const fs::path file = fs::path(::testing::TempDir()) / ("deadrank_" + workload + ".toml");
    std::string text = scenario_text;
    text.replace(text.find("{}"), 2, workload);
    std::ofstream(file) << text;
    return tests::shell(fmt::format("{}/tests/deadrank_planted replay determinism --json --jobs 1 --catalog {} {}",
                                    DEADRANK_BINARY_DIRECTORY, catalog, file.string()));
}

void expect_named(const tests::Answer& answer, const std::string& against) {
    ASSERT_EQ(answer.code, 1) << answer.out;
    const auto json = nlohmann::json::parse(answer.out, nullptr, false);
    ASSERT_TRUE(json.is_object()) << answer.out;
    EXPECT_EQ(json.value("outcome", ""), "differs");
    EXPECT_EQ(json.value("differs_in", ""), "events");
    EXPECT_EQ(json.value("against", ""), against);
    for (const char* side : {"here", "there"}) {
        const auto& event = json.at(side);
        EXPECT_EQ(event.value("what", ""), "value.sample") << answer.out;
        EXPECT_EQ(event.value("rank", -1), 1) << answer.out;
        EXPECT_GT(event.value("event", 0), 4096)
            << "the first checkpoint is past; the bisection had to choose";
        EXPECT_THAT(event.value("evidence", ""), HasSubstr("where it lies"));
    }
    EXPECT_NE(json.at("here").value("evidence", ""), json.at("there").value("evidence", ""));
}

TEST(DeterminismCommand, NamesAnEventThatDiffersFromRunToRun) {
    expect_named(check_planted("heap_address"), "the second run here");
}

TEST(DeterminismCommand, NamesAnEventThatDiffersFromProcessToProcess) {
    int random = 0;
    std::ifstream("/proc/sys/kernel/randomize_va_space") >> random;
    if (random == 0) GTEST_SKIP() << "this kernel gives every process the same addresses";
    expect_named(check_planted("program_address"), "the run in another process");
}

TEST(DeterminismCommand, IsQuietAboutWhatIsOneRun) {
    const tests::Answer answer = tests::shell(fmt::format(
        "{}/deadrank replay determinism --json --seeds 1..2 --catalog {} communication/rank_leaves_all_reduce",
        DEADRANK_BINARY_DIRECTORY, catalog));
    EXPECT_EQ(answer.code, 0) << answer.out;
    EXPECT_THAT(answer.out, HasSubstr(R"("outcome":"same")"));
    EXPECT_EQ(std::count(answer.out.begin(), answer.out.end(), '\n'), 2);
}

TEST(DeterminismCommand, RefusesWhatIsNoScenario) {
    const tests::Answer answer =
        tests::shell(fmt::format("{}/deadrank replay determinism --catalog {} communication/rank_leaves_al",
                                 DEADRANK_BINARY_DIRECTORY, catalog));
    EXPECT_EQ(answer.code, 64) << answer.out;
}

// Goal: with every tie in time broken by chance, the whole catalog is still one run a seed, here and
// elsewhere.
// The scenarios of C++ workloads: a real program takes a thousand times as long, and DeviceRealCode plays those
// twice.
TEST(SlowDeterminismCommand, TheCatalogIsOneRunAlsoWhereOrderIsExplored) {
    const fs::path simulated =
        fs::path(testing::TempDir()) / fmt::format("deadrank_simulated_{}", getpid());
    for (const auto& entry : fs::recursive_directory_iterator(catalog)) {
        const fs::path& file = entry.path();
        if (file.extension() != ".toml" || fs::exists(fs::path(file).replace_extension(".py")))
            continue;
        const auto copy = simulated / fs::relative(file, catalog);
        fs::create_directories(copy.parent_path());
        fs::copy_file(file, copy);
    }
    for (const char* order : {"", "--explore-order"}) {
        const tests::Answer answer =
            tests::shell(fmt::format("{}/deadrank replay determinism --quiet --seeds 1..3 {} --catalog {}",
                                     DEADRANK_BINARY_DIRECTORY, order, simulated.string()));
        EXPECT_EQ(answer.code, 0) << answer.out;
        EXPECT_THAT(answer.out, HasSubstr(" 0 differ · 0 unknown"));
    }
    fs::remove_all(simulated);
}

}  // namespace
}  // namespace deadrank
