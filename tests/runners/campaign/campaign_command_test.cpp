// tests/runners/campaign/campaign_command_test.cpp — Goal: one process, many children and two MPI ranks give
// one answer, a killed campaign goes on where it ended, and another campaign's file is refused.
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
using testing::HasSubstr;

const std::string program = DEADRANK_BINARY_DIRECTORY "/deadrank";
const std::string mpirun =
    "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun --oversubscribe --bind-to none -np 2 ";

class CampaignCommand : public testing::Test {
protected:
    CampaignCommand() { fs::create_directories(place_); }
    ~CampaignCommand() override { fs::remove_all(place_); }

    std::string command(const std::string& file, const std::string& seeds) const {
        return fmt::format(
            "{} sweep campaign communication/rank_leaves_all_reduce --no-control --no-heal --json --seeds {} "
            "--out "
            "{}",
            program, seeds, (place_ / file).string());
    }
    // What it printed, without what a launcher says around it.
    static nlohmann::json answer(const tests::Answer& said) {
        const std::size_t begin = said.out.find("{\n"), end = said.out.rfind("\n}");
        if (begin == std::string::npos || end == std::string::npos) return {{"said", said.out}};
        return nlohmann::json::parse(said.out.substr(begin, end + 2 - begin), nullptr, false);
    }

    fs::path place_ = fs::path(testing::TempDir()) / ("deadrank_campaign_" + std::to_string(getpid()));
};
class DeviceCampaign : public CampaignCommand {
protected:
    void SetUp() override {
        if (!fs::exists(DEADRANK_BINARY_DIRECTORY "/deadrank_mpi_bridge.so"))
            GTEST_SKIP() << "built without MPI";
        if (tests::shell("command -v mpirun").code != 0) GTEST_SKIP() << "there is no mpirun";
    }
};

TEST_F(CampaignCommand, OneChildOrSeveralGiveOneAnswer) {
    const auto one = answer(tests::shell(command("one", "1..6") + " --jobs 1"));
    const auto several = answer(tests::shell(command("several", "1..6") + " --jobs 3"));
    ASSERT_EQ(one.value("done", 0), 6) << one.dump();
    EXPECT_EQ(one["answer"], several["answer"]);
}

TEST_F(CampaignCommand, AFileOfOtherSeedsIsRefused) {
    ASSERT_EQ(answer(tests::shell(command("one", "1..2"))).value("done", 0), 2);
    const auto refused = tests::shell(command("one", "1..3"));
    EXPECT_EQ(refused.code, 64);
    EXPECT_THAT(refused.out, HasSubstr("another campaign"));
}

TEST_F(CampaignCommand, ATrialOverItsBudgetIsUnknownAndTheRestGoesOn) {
    const auto said = tests::shell(command("one", "1..3") + " --budget 0.001");
    EXPECT_EQ(said.code, 2);
    EXPECT_EQ(answer(said).value("unknown", 0), 3) << said.out;
}

TEST_F(DeviceCampaign, TwoMpiRanksGiveTheAnswerOfOneProcess) {
    const auto one = answer(tests::shell(command("one", "1..40") + " --jobs 1"));
    const auto peers = answer(tests::shell(mpirun + command("peers", "1..40")));
    ASSERT_EQ(one.value("done", 0), 40) << one.dump();
    EXPECT_EQ(peers.value("answer", ""), one["answer"]) << peers.dump();
    EXPECT_THAT(peers.value("where", ""), HasSubstr("2 processes"));
}

// A job as small as there is, so that many of them fit into a test.
constexpr const char* tiny = R"(# tiny.toml
# A rank is late in some of its steps; nobody needs to notice.
format = 1
[bug]
stage = "scheduling"
symptom = "straggler_step_time_skew"
cause = "rank_local_slowdown"
fix = "validation_and_failure_handling"
[cluster]
nodes = 1
gpus_per_node = 2
[workload]
kind = "data_parallel"
steps = 2
layers = 1
width = 2
[[fault]]
kind = "slow_rank"
rank = "any"
factor = "2x"
when = { step = "0..1" }
[expect]
symptom = "straggler_step_time_skew"
[heal]
fault = "none"
says = "no rank is slow"
)";

TEST_F(DeviceCampaign, ManyTrialsOnTwoRanksKilledOnceAreThoseOfOneProcess) {
    std::ofstream(place_ / "tiny.toml") << tiny;
    const auto play = [&](const std::string& file, const std::string& more) {
        return fmt::format("{} campaign {} --no-control --no-heal --json --seeds 1..400 --out {} {}", program,
                           (place_ / "tiny.toml").string(), (place_ / file).string(), more);
    };
    const auto one = answer(tests::shell(play("one", "--jobs 1")));
    ASSERT_EQ(one.value("done", 0), 400) << one.dump();
    // Killed when the first are on disk: mpirun, and with it both ranks.
    const std::string count = fmt::format(
        "python3 -c \"import sqlite3,sys; print(sqlite3.connect('file:{}?mode=ro', uri=True, timeout=5)"
        ".execute('select count(*) from trials').fetchone()[0])\" 2>/dev/null || echo 0",
        (place_ / "peers").string());
    tests::shell("( " + mpirun + play("peers", "") + " ) >/dev/null 2>&1 & job=$!\n" +
                 "for i in $(seq 600); do [ \"$(" + count + ")\" -ge 30 ] && break; sleep 0.1; done\n" +
                 "pid=$(ps -o pid= --ppid $job | head -1); kill -9 ${pid:-$job}; wait $job 2>/dev/null");
    const auto peers = answer(tests::shell(mpirun + play("peers", "")));
    EXPECT_EQ(peers.value("done", 0), 400) << peers.dump();
    EXPECT_GE(peers.value("before", 0), 30) << "it began anew";
    EXPECT_LT(peers.value("before", 0), 400) << "it was never killed";
    EXPECT_EQ(peers.value("answer", ""), one["answer"]);
}

}  // namespace
}  // namespace deadrank
