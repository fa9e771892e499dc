// Goal: what a fault does to a whole process happens at its moment, is written to the truth before it
// happens, and a killed rank's evidence is complete up to there. A plan that cannot be read harms nobody and
// is said.
#include <chrono>
#include <fstream>
#include <gmock/gmock.h>

#include "tests/inject/shims/shim_run.h"

namespace deadrank::tests {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class DeviceShimProcess : public testing::Test {
protected:
    void SetUp() override {
        if (const std::string why = no_shims(); !why.empty()) GTEST_SKIP() << why;
    }
    double seconds_of(const std::string& words) {
        const auto begin = std::chrono::steady_clock::now();
        answer = run.calls(words);
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    }
    ShimRun run;
    Answer answer;
};

TEST_F(DeviceShimProcess, DiesAtTheSecondCallAndLeavesItsEvidence) {
    run.fault({{"before", "all_reduce"}, {"nth", 2}}, {{"lever", "kill"}, {"signal", 9}});
    EXPECT_EQ(run.calls("init all_reduce all_reduce").code, 137);
    EXPECT_EQ(run.evidence_of("collective.leave").size(), 1u);
    EXPECT_EQ(run.truth().at(0)["kind"], "fault.applied");
}

TEST_F(DeviceShimProcess, LeavesWithACodeAndASentence) {
    run.fault({{"before", "all_reduce"}},
              {{"lever", "exit"}, {"code", 7}, {"says", "RuntimeError: no space left"}});
    answer = run.calls("init all_reduce");
    EXPECT_EQ(answer.code, 7);
    EXPECT_THAT(answer.out, HasSubstr("RuntimeError: no space left"));
}

TEST_F(DeviceShimProcess, StopsAndIsWokenAgain) {
    run.fault({{"before", "all_reduce"}, {"lasts", 700'000'000}}, {{"lever", "stop"}});
    EXPECT_GE(seconds_of("init all_reduce broadcast"), 0.7);
    EXPECT_THAT(answer.out, HasSubstr("broadcast 0 "));
}

TEST_F(DeviceShimProcess, IsLateBecauseOfADelay) {
    run.fault({{"before", "all_reduce"}}, {{"delay", 600'000'000}});
    EXPECT_GE(seconds_of("init all_reduce"), 0.6);
    EXPECT_EQ(answer.code, 0);
}

TEST_F(DeviceShimProcess, NeverComesBackFromACall) {
    run.fault({{"before", "all_reduce"}}, {{"never_completes", true}});
    run.limit = 1;
    EXPECT_EQ(run.calls("init all_reduce").code, 124);
    EXPECT_EQ(run.evidence_of("collective.enter").size(), 1u);
    EXPECT_TRUE(run.evidence_of("collective.leave").empty());
}

TEST_F(DeviceShimProcess, DiesByTheClock) {
    run.fault({{"at", 300'000'000}}, {{"lever", "kill"}, {"signal", 15}});
    EXPECT_EQ(run.calls("init sleep:20000 all_reduce").code, 143);
    EXPECT_TRUE(run.evidence_of("collective.enter").empty());
}

TEST_F(DeviceShimProcess, SaysWhatIsWrongWithAPlanAndGoesOn) {
    std::ofstream(run.directory / "plan.json") << R"({"faults": [{"ranks": "all", "pulls": []}]})";
    run.environment["DEADRANK_PLAN"] = (run.directory / "plan.json").string();
    answer = run.calls("init all_reduce");
    EXPECT_EQ(answer.code, 0);
    EXPECT_THAT(answer.out, HasSubstr("plan.json: no plan for a shim: "));
    EXPECT_THAT(answer.out, HasSubstr("all_reduce 0 1 2 3 4"));
}

TEST_F(DeviceShimProcess, RefusesALeverThatNoLibraryHas) {
    run.fault({{"before", "all_reduce"}}, {{"lever", "bend"}, {"seam", "learning_rate"}});
    EXPECT_EQ(run.calls("init all_reduce").code, 0);
    EXPECT_EQ(run.truth().back()["says"], "a library in a real program has no lever bend");
}

TEST_F(DeviceShimProcess, TakesItsRankFromTheCommunicatorWhereNobodySaysIt) {
    run.environment.erase("DEADRANK_RANK");
    run.fault({{"before", "all_reduce"}}, {{"skip", true}});
    run.calls("init:2:1 all_reduce broadcast");
    EXPECT_EQ(run.evidence_of("collective.enter").size(), 1u);
    EXPECT_EQ(run.evidence_of("collective.enter").at(0)["op"], "broadcast");
}

}  // namespace
}  // namespace deadrank::tests
