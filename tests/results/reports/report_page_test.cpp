// Goal: what `deadrank run --html` writes opens in a real browser: it draws, complains of nothing, asks the
// network for nothing, and each cell leads to its run. Skipped where no Chromium is installed.
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "results/reports/page.h"
#include "runners/backends/process/mpirun.h"
#include "tests/support/shell.h"

namespace deadrank::tests {
namespace {

namespace fs = std::filesystem;

class DeviceReportPage : public testing::Test {
protected:
    void SetUp() override {
        // Of its own: the tests of this suite run beside each other.
        const std::string name = testing::UnitTest::GetInstance()->current_test_info()->name();
        directory_ = fs::path(testing::TempDir()) / ("deadrank_report_page_" + name);
        fs::remove_all(directory_);
        fs::create_directories(directory_);
    }
    void TearDown() override { fs::remove_all(directory_); }

    std::string report(const std::string& arguments) const {
        const fs::path file = directory_ / "report.html";
        const Answer made = shell("DEADRANK_CATALOG='" DEADRANK_SOURCE_DIRECTORY
                                  "/scenarios/catalog' " DEADRANK_BINARY_DIRECTORY "/deadrank " +
                                  arguments + " --html " + file.string());
        EXPECT_LE(made.code, 2) << made.out;
        EXPECT_TRUE(fs::exists(file)) << made.out;
        return file.string();
    }
    // The same bug with as many nodes of eight ranks.
    std::string enlarged(int nodes) const {
        std::ifstream in(DEADRANK_SOURCE_DIRECTORY
                         "/scenarios/catalog/communication/rank_leaves_all_reduce.toml");
        std::string text((std::istreambuf_iterator<char>(in)), {});
        const auto replace = [&](const std::string& from, const std::string& to) {
            const std::size_t at = text.find(from);
            ASSERT_NE(at, std::string::npos) << from;
            text.replace(at, from.size(), to);
        };
        replace("nodes = 2\ngpus_per_node = 4", "nodes = " + std::to_string(nodes) + "\ngpus_per_node = 8");
        const fs::path file = directory_ / "enlarged.toml";
        std::ofstream(file) << text;
        return file.string();
    }
    static void expect_good(const std::string& file) {
        const Answer answer =
            shell("python3 '" DEADRANK_SOURCE_DIRECTORY "/tests/browser/check_report.py' '" + file + "'");
        if (answer.code == 77) GTEST_SKIP() << answer.out;
        EXPECT_EQ(answer.code, 0) << answer.out;
    }

    fs::path directory_;
};

TEST_F(DeviceReportPage, DrawsEightRanksAndLeadsFromEachCellToItsRun) {
    expect_good(report("run 'communication/c*' 'communication/r*' 'communication/s*' --seeds 1..2"));
}
TEST_F(DeviceReportPage, DrawsFiveHundredRanksInLessThanTwoMegabytes) {
    const std::string file = report("run " + enlarged(64));
    EXPECT_LT(fs::file_size(file), 2'000'000u);
    expect_good(file);
}
// Of real frameworks: the lines are what `deadrank run --runner local --json` printed.
TEST_F(DeviceReportPage, OpensEachCellOfHowFrameworksStoodBugs) {
    expect_good(report("report resilience '" DEADRANK_SOURCE_DIRECTORY "/tests/data/standings.jsonl'"));
}
TEST_F(DeviceReportPage, DrawsRunsThatWereReadBackFromFiles) {
    const std::string out = (directory_ / "runs").string();
    shell("DEADRANK_CATALOG='" DEADRANK_SOURCE_DIRECTORY "/scenarios/catalog' " DEADRANK_BINARY_DIRECTORY
          "/deadrank run communication/rank_leaves_all_reduce --out " +
          out);
    expect_good(report("judge " + out + "/communication/rank_leaves_all_reduce/1"));
}
// A program that was only watched has no scenario: no fault, no verdict, no control.
TEST_F(DeviceReportPage, ShowsAWatchedProgramWithoutLeftoversOfAScenario) {
    if (const auto python = runners::best_python(); !python) GTEST_SKIP() << python.error().text();
    const fs::path script = directory_ / "train.py";
    std::ofstream(script) << R"(import os, torch, torch.distributed as dist

dist.init_process_group("gloo")
for step in range(4):
    if dist.get_rank() == 1 and step == 2:
        os._exit(3)
    dist.all_reduce(torch.ones(4))
)";
    const fs::path file = directory_ / "report.html";
    const Answer watched =
        shell(fmt::format("cd '{}' && '" DEADRANK_BINARY_DIRECTORY
                          "/deadrank' watch --simulated --html '{}' -- torchrun --nproc-per-node 2 train.py",
                          directory_.string(), file.string()));
    ASSERT_TRUE(fs::exists(file)) << watched.out;
    expect_good(file.string());
}

// Ranks that ended alike are one row, and each of its cells is a run of each of them.
TEST_F(DeviceReportPage, CountsTheRunsOfASweepAndNotItsRows) {
    using results::reports::MomentCell;
    const auto cell = [](const char* outcome, const char* sign) {
        return MomentCell{
            outcome, sign, true, "rank 0, before all_reduce 1", "", "deadrank inject 'kill rank 0'"};
    };
    results::reports::Page page;
    page.show_moments({{"all_reduce 1", "all_reduce 2"},
                       {{"kill", "ranks 0-3", {cell("watchdog", "w"), cell("wrong result", "W")}, 4},
                        {"delay", "rank 0", {cell("watchdog", "w"), std::nullopt}, 1}}});
    const fs::path file = directory_ / "sweep.html";
    ASSERT_TRUE(page.write(file, {}, "class", "9 runs of torchrun train.py"));
    expect_good(file.string());
}

}  // namespace
}  // namespace deadrank::tests
