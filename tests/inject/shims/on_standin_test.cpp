// tests/inject/shims/on_standin_test.cpp — Goal: the interposer's faults are real on a NCCL that moves real
// values between processes: the project's stand-in, where no GPU is. Whoever is hit, and whoever waits for
// it, shows what a job would see.
#include <filesystem>
#include <gmock/gmock.h>

#include "tests/inject/shims/shim_run.h"

namespace deadrank::tests {
namespace {

using nlohmann::json;
using testing::HasSubstr;

const std::string standin = DEADRANK_BINARY_DIRECTORY "/standin";

class DeviceShimsOnStandin : public testing::Test {
protected:
    void SetUp() override {
        if (const std::string why = no_shims(); !why.empty()) GTEST_SKIP() << why;
        if (!std::filesystem::exists(standin + "/libnccl.so.2")) {
            GTEST_SKIP() << "this build has no stand-in for NCCL (it needs the headers of CUDA 13 and NCCL)";
        }
        run.environment["LD_LIBRARY_PATH"] = standin;
        run.environment["LD_PRELOAD"] = shim_directory + "/libdeadrank-nccl.so";
        run.environment.erase("DEADRANK_RANK");
    }
    // The same calls on two ranks; lines begin with the rank.
    std::string both(const std::string& words) {
        const std::string id = (run.directory / "id").string();
        std::string script;
        for (const char* rank : {"0", "1"}) {
            script += std::string("(DEADRANK_RANK=") + rank + " CUDA_VISIBLE_DEVICES=" + rank + " " +
                      program_directory + "/shim_host local " + program_directory +
                      "/libnccl_caller.so init:2:" + rank + ":" + id + " " + words + " 2>&1 | sed \"s/^/" +
                      rank + " /\") & ";
        }
        return run.start("sh -c '" + script + " wait'").out;
    }
    ShimRun run;
};

TEST_F(DeviceShimsOnStandin, MoveRealValuesUndisturbed) {
    const std::string out = both("all_reduce all_gather");
    for (const char* rank : {"0", "1"}) {
        EXPECT_THAT(out, HasSubstr(std::string(rank) + " all_reduce 0 3 6 9 12 0 0 0 0\n"));
        EXPECT_THAT(out, HasSubstr(std::string(rank) + " all_gather 0 1 2 3 4 2 4 6 8\n"));
    }
    EXPECT_EQ(run.evidence_of("collective.leave", 0).size(), 2u);
    EXPECT_EQ(run.evidence_of("collective.leave", 1).size(), 2u);
}

TEST_F(DeviceShimsOnStandin, BendABitThatEveryRankSees) {
    run.fault({{"before", "all_reduce"}}, {{"flip_bit", 46}});  // rank 1's 2 becomes 4
    const std::string out = both("all_reduce all_reduce");
    EXPECT_THAT(out, HasSubstr("0 all_reduce 0 5 6 9 12 0 0 0 0\n0 all_reduce 0 3 6 9 12"));
    EXPECT_THAT(out, HasSubstr("1 all_reduce 0 5 6 9 12 0 0 0 0\n"));
}

TEST_F(DeviceShimsOnStandin, LeaveTheOthersWaiting) {
    run.fault({{"before", "all_reduce"}, {"nth", 2}}, {{"skip", true}});
    run.limit = 4;
    both("all_reduce all_reduce");
    EXPECT_EQ(run.evidence_of("collective.enter", 0).size(), 2u);
    EXPECT_EQ(run.evidence_of("collective.leave", 0).size(), 1u) << "rank 0 waits for rank 1";
    EXPECT_EQ(run.evidence_of("collective.enter", 1).size(), 1u);
}

TEST_F(DeviceShimsOnStandin, ClaimAnotherVersion) {
    run.fault({{"at_start", true}}, {{"lever", "set_version"}, {"package", "nccl"}, {"version", "2.18.3"}});
    run.environment["NCCL_DEBUG"] = "WARN";
    const std::string out = both("all_reduce");
    EXPECT_THAT(out, HasSubstr("Mismatched NCCL version detected"));
    EXPECT_THAT(out, HasSubstr("init 5"));
}

TEST_F(DeviceShimsOnStandin, KillARankOnItsWayIntoACollective) {
    run.fault({{"before", "all_reduce"}, {"nth", 2}}, {{"lever", "kill"}, {"signal", 9}});
    run.limit = 4;
    both("all_reduce all_reduce");
    EXPECT_EQ(run.evidence_of("collective.leave", 1).size(), 1u);
    EXPECT_EQ(run.truth(1).at(0)["kind"], "fault.applied");
    EXPECT_EQ(run.evidence_of("collective.enter", 0).size(), 2u);
}

}  // namespace
}  // namespace deadrank::tests
