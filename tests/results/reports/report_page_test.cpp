// Goal: what `deadrank run --html` writes opens in a real browser: it draws, complains of nothing, asks the
// network for nothing, and each cell leads to its run. Skipped where no Chromium is installed.
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace deadrank::tests
