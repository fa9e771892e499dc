// tests/runners/scale/campaign_command_test.cpp — Goal: one process, many children and two MPI ranks give one
// answer, a killed campaign goes on where it ended, and another campaign's file is refused.
#include <filesystem>
#include <fmt/format.h>
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
            "{} campaign communication/rank_leaves_all_reduce --no-control --no-heal --json --seeds {} --out "
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
        if (!fs::exists(DEADRANK_BINARY_DIRECTORY "/deadrank_crew.so")) GTEST_SKIP() << "built without MPI";
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
    const auto crew = answer(tests::shell(mpirun + command("crew", "1..40")));
    ASSERT_EQ(one.value("done", 0), 40) << one.dump();
    EXPECT_EQ(crew.value("answer", ""), one["answer"]) << crew.dump();
    EXPECT_THAT(crew.value("where", ""), HasSubstr("2 processes"));
}

}  // namespace
}  // namespace deadrank
