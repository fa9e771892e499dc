// Goal: what NCCL tells its profiler becomes evidence: a collective is over when its kernels are, and one
// that never ends has no end there. A plan delays a call through it; beside the interposer it sleeps.
#include <gmock/gmock.h>
#include <regex>

#include "tests/inject/shims/shim_run.h"

namespace deadrank::tests {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

class DeviceProfilerPlugin : public testing::TestWithParam<int> {
protected:
    void SetUp() override {
        if (const std::string why = no_shims(); !why.empty()) GTEST_SKIP() << why;
    }
    std::string drive() {
        return run
            .start(program_directory + "/profiler_driver " + shim_directory +
                   "/libnccl-profiler-deadrank.so " + std::to_string(GetParam()))
            .out;
    }
    ShimRun run;
};

TEST_P(DeviceProfilerPlugin, WritesWhatNcclReallyDid) {
    drive();
    std::vector<std::string> kinds;
    const results::Evidence seen = run.timeline();
    for (const results::Event& event : seen.events()) kinds.emplace_back(results::kind_name(event));
    EXPECT_THAT(kinds, ElementsAre("comm.init.enter", "comm.init.leave", "collective.enter",
                                   "collective.leave", "collective.enter", "collective.leave", "p2p.enter"));
    const json opened = run.evidence_of("comm.init.enter").at(0);
    EXPECT_EQ(opened["name"], "tp");
    EXPECT_EQ(opened["size"], 4);
    EXPECT_EQ(opened["rank_in_comm"], 1);
    const json sum = run.evidence_of("collective.enter").at(1);
    EXPECT_EQ(sum["seq"], 2);
    EXPECT_EQ(sum["op"], "all_reduce");
    EXPECT_EQ(sum["dtype"], "f32");
    EXPECT_EQ(sum["count"], 1024);
    EXPECT_EQ(sum["root"], -1);
    const json message = run.evidence_of("p2p.enter").at(0);
    EXPECT_EQ(message["op"], "send");
    EXPECT_EQ(message["dtype"], "bf16");
    EXPECT_EQ(message["peer"], 3);
}

TEST_P(DeviceProfilerPlugin, DelaysTheSecondCall) {
    run.fault({{"before", "all_reduce"}, {"comm", "tp"}, {"nth", 2}}, {{"delay", 300'000'000}});
    run.environment.erase("DEADRANK_EVIDENCE");
    const std::string out = drive();
    std::smatch found;
    ASSERT_TRUE(std::regex_search(out, found, std::regex("ms=([0-9]+)\nall_reduce ms=([0-9]+)"))) << out;
    EXPECT_GE(std::stoi(found[2]), 300);
}

TEST_P(DeviceProfilerPlugin, RefusesWhatAProfilerCannotDo) {
    run.fault({{"before", "all_reduce"}}, {{"skip", true}});
    drive();
    EXPECT_EQ(run.truth().back()["kind"], "fault.refused");
    EXPECT_THAT(std::string(run.truth().back()["says"]), HasSubstr("preload libdeadrank-nccl.so"));
}

TEST_P(DeviceProfilerPlugin, AsksForNothingWithoutAPlan) {
    run.environment.erase("DEADRANK_EVIDENCE");
    EXPECT_THAT(drive(), HasSubstr("deadrank mask=0\n"));
}

TEST_P(DeviceProfilerPlugin, LeavesEverythingToTheInterposer) {
    run.environment["LD_PRELOAD"] = shim_directory + "/libdeadrank-nccl.so";
    EXPECT_THAT(drive(), HasSubstr("deadrank mask=0\n"));
}

INSTANTIATE_TEST_SUITE_P(OfVersion, DeviceProfilerPlugin, testing::Values(4, 5));

}  // namespace
}  // namespace deadrank::tests
