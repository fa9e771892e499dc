// Goal: each way to alter a call reaches the library below as meant, on the call that was meant, and what is
// written down is what the library got.
#include <gmock/gmock.h>

#include "results/record/evidence.h"
#include "tests/inject/shims/shim_run.h"

namespace deadrank::tests {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* plain_sum = "all_reduce count=4 dtype=7 reduce=0 root=-1";

class DeviceInterposer : public testing::Test {
protected:
    void SetUp() override {
        if (const std::string why = no_shims(); !why.empty()) GTEST_SKIP() << why;
    }
    // Of what arrived, without the communicator's beginning.
    std::vector<std::string> moved() const {
        std::vector<std::string> all = run.arrived();
        std::erase_if(all, [](const std::string& line) { return line.starts_with("comm_"); });
        return all;
    }
    ShimRun run;
};

TEST_F(DeviceInterposer, ChangesNothingWithoutAPlan) {
    run.environment.erase("DEADRANK_EVIDENCE");
    const Answer answer = run.calls("version init all_reduce destroy");
    EXPECT_EQ(answer.out, "version 0 22809\ninit 0\nall_reduce 0 1 2 3 4 0 0 0 0\ndestroy 0\n");
    EXPECT_THAT(run.arrived(),
                ElementsAre("comm_init ranks=2 rank=0 version=22809", plain_sum, "comm_destroy"));
    EXPECT_TRUE(std::filesystem::is_empty(run.directory / "evidence"));
}

TEST_F(DeviceInterposer, WritesWhatAnyRunnerReads) {
    run.calls("init all_reduce send recv split broadcast destroy");
    const results::Evidence seen = run.timeline();
    std::vector<std::string> kinds;
    for (const results::Event& event : seen.events()) kinds.emplace_back(results::kind_name(event));
    EXPECT_THAT(kinds,
                ElementsAre("rank.start", "comm.init.enter", "comm.init.leave", "collective.enter",
                            "collective.leave", "p2p.enter", "p2p.leave", "p2p.enter", "p2p.leave",
                            "comm.init.enter", "comm.init.leave", "collective.enter", "collective.leave"));
    EXPECT_EQ(run.evidence_of("rank.start").at(0)["versions"], "nccl=2.28.9");
    EXPECT_EQ(run.evidence_of("comm.init.enter").at(0)["name"], "world");
    EXPECT_EQ(run.evidence_of("comm.init.enter").at(1)["name"], "group1");
    EXPECT_EQ(run.evidence_of("p2p.enter").at(1)["op"], "recv");
    const json last = run.evidence_of("collective.enter").at(1);
    EXPECT_EQ(last["op"], "broadcast");
    EXPECT_EQ(last["comm"], 2);
    EXPECT_EQ(last["seq"], 1) << "each communicator counts for itself";
}

TEST_F(DeviceInterposer, CountsTheCallsOfOneCommunicator) {
    run.fault({{"before", "all_reduce"}, {"comm", "group1"}, {"nth", 2}}, {{"skip", true}});
    run.calls("init all_reduce all_reduce split all_reduce all_reduce all_reduce");
    EXPECT_EQ(moved().size(), 4u);
    EXPECT_EQ(run.evidence_of("collective.enter").size(), 4u) << "what was swallowed is not seen to happen";
    ASSERT_EQ(run.truth().size(), 1u);
    EXPECT_EQ(run.truth().at(0)["kind"], "fault.applied");
    EXPECT_EQ(run.truth().at(0)["call"], "all_reduce");
}

TEST_F(DeviceInterposer, LeavesOtherRanksAlone) {
    run.fault({{"before", "all_reduce"}}, {{"skip", true}});
    run.environment["DEADRANK_RANK"] = "0";
    run.calls("init all_reduce");
    EXPECT_THAT(moved(), ElementsAre(plain_sum));
}

TEST_F(DeviceInterposer, ResizesWithMemoryOfItsOwn) {
    run.fault({{"before", "all_reduce"}}, {{"count_change", 3}, {"dtype", "f64"}});
    const Answer answer = run.calls("init all_reduce");
    EXPECT_THAT(moved(), ElementsAre("all_reduce count=7 dtype=8 reduce=0 root=-1"));
    EXPECT_THAT(answer.out, HasSubstr("all_reduce 0 1 2 3 4 0 0 0 0"))
        << "beyond the program's buffer nothing changes";
    EXPECT_EQ(run.evidence_of("collective.enter").at(0)["count"], 7);
}

TEST_F(DeviceInterposer, ShrinksToNothing) {
    run.fault({{"before", "all_reduce"}}, {{"count_set", 0}});
    EXPECT_THAT(run.calls("init all_reduce").out, HasSubstr("all_reduce 0 0 0 0 0"));
    EXPECT_THAT(moved(), ElementsAre("all_reduce count=0 dtype=7 reduce=0 root=-1"));
}

TEST_F(DeviceInterposer, ChangesReduceOperationAndRoot) {
    run.plan({{"faults",
               {{{"ranks", {1}},
                 {"when", {{"before", "all_reduce"}}},
                 {"pulls", {{{"lever", "alter_call"}, {"reduce", "max"}}}}},
                {{"ranks", {1}},
                 {"when", {{"before", "broadcast"}}},
                 {"pulls", {{{"lever", "alter_call"}, {"root", 1}}}}},
                {{"ranks", {1}},
                 {"when", {{"before", "reduce"}}},
                 {"pulls", {{{"lever", "alter_call"}, {"op", "all_gather"}}}}}}}});
    run.calls("init all_reduce broadcast reduce");
    EXPECT_THAT(moved(), ElementsAre("all_reduce count=4 dtype=7 reduce=2 root=-1",
                                     "broadcast count=4 dtype=7 reduce=0 root=1",
                                     "all_gather count=4 dtype=7 reduce=0 root=-1"));
}

TEST_F(DeviceInterposer, GivesTheOtherOperationItsRoot) {
    run.fault({{"before", "all_reduce"}}, {{"op", "broadcast"}, {"root", 1}});
    run.calls("init all_reduce");
    EXPECT_THAT(moved(), ElementsAre("broadcast count=4 dtype=7 reduce=0 root=1"));
    EXPECT_EQ(run.truth().back()["kind"], "fault.applied");
}

TEST_F(DeviceInterposer, SaysWhyACallCannotBeAlteredSo) {
    run.fault({{"before", "all_reduce"}}, {{"root", 1}});
    run.calls("init all_reduce");
    EXPECT_THAT(moved(), ElementsAre(plain_sum));
    EXPECT_EQ(run.truth().back()["kind"], "fault.refused");
    EXPECT_EQ(run.truth().back()["says"], "ncclAllReduce has no root");
}

TEST_F(DeviceInterposer, ExchangesTwoCalls) {
    run.fault({{"before", "broadcast"}}, {{"hold", true}});
    run.calls("init broadcast all_reduce");
    EXPECT_THAT(moved(), ElementsAre(plain_sum, "broadcast count=4 dtype=7 reduce=0 root=0"));
}

TEST_F(DeviceInterposer, IssuesAHeldCallBeforeItsCommunicatorEnds) {
    run.fault({{"before", "broadcast"}}, {{"hold", true}});
    run.calls("init broadcast destroy");
    EXPECT_THAT(run.arrived(), ElementsAre("comm_init ranks=2 rank=0 version=22809",
                                           "broadcast count=4 dtype=7 reduce=0 root=0", "comm_destroy"));
}

TEST_F(DeviceInterposer, FlipsABitOnTheWayOut) {
    run.fault({{"before", "all_reduce"}},
              {{"flip_bit", 2 * 64 + 46}});  // bit 23 of the third float: its exponent's lowest, so 3 doubles
    EXPECT_THAT(run.calls("init all_reduce all_reduce").out,
                HasSubstr("all_reduce 0 1 2 6 4 0 0 0 0\nall_reduce 0 1 2 3 4 0 0 0 0"));
}

TEST_F(DeviceInterposer, FlipsABitOfWhatArrived) {
    run.fault({{"before", "all_reduce"}},
              {{"flip_bit", 63}, {"flip_received", true}});  // the sign of the first
    EXPECT_THAT(run.calls("init all_reduce").out, HasSubstr("all_reduce 0 -1 2 3 4 0 0 0 0"));
}

TEST_F(DeviceInterposer, AnswersWithAnErrorOfItsOwn) {
    run.fault({{"before", "collective"}, {"nth", 2}}, {{"answer", "remote_error"}});
    EXPECT_THAT(run.calls("init all_reduce broadcast all_reduce").out, HasSubstr("broadcast 6 "));
    EXPECT_THAT(moved(), ElementsAre(plain_sum, plain_sum));
    EXPECT_EQ(run.evidence_of("comm.error").at(0)["code"], "remote_error");
}

TEST_F(DeviceInterposer, GivesACommunicatorAnotherSizeAndRank) {
    run.fault({{"before", "comm_init"}}, {{"count_change", 1}, {"root", 1}});
    run.calls("init");
    EXPECT_THAT(run.arrived(), ElementsAre("comm_init ranks=3 rank=1 version=22809"));
}

TEST_F(DeviceInterposer, TellsPeersAnotherVersionFromInsideNccl) {
    run.fault({{"at_start", true}}, {{"lever", "set_version"}, {"package", "nccl"}, {"version", "2.18.3"}});
    EXPECT_THAT(run.calls("version init").out, HasSubstr("version 0 21803"));
    EXPECT_THAT(run.arrived(), ElementsAre("comm_init ranks=2 rank=0 version=21803"));
}

TEST_F(DeviceInterposer, SeesAGroupEndBeforeItsCallsLand) {
    run.calls("init group_start all_reduce broadcast group_end");
    std::vector<std::string> kinds;
    for (const json& line : run.evidence()) kinds.push_back(line["kind"]);
    EXPECT_THAT(kinds, ElementsAre("rank.start", "comm.init.enter", "comm.init.leave", "collective.enter",
                                   "collective.enter", "collective.leave", "collective.leave"));
}

TEST_F(DeviceInterposer, WritesAnAsynchronousErrorOnce) {
    run.environment["DEADRANK_ASYNC_ERROR"] = "6";
    EXPECT_THAT(run.calls("init poll poll poll abort").out, HasSubstr("poll 0 6"));
    EXPECT_EQ(run.evidence_of("comm.error").size(), 1u);
    EXPECT_EQ(run.evidence_of("comm.abort").size(), 1u);
}

TEST_F(DeviceInterposer, WorksUnderAClientThatEverybodySees) {
    run.sight = "global";
    run.fault({{"before", "all_reduce"}}, {{"skip", true}});
    run.calls("init all_reduce broadcast");
    EXPECT_THAT(moved(), ElementsAre("broadcast count=4 dtype=7 reduce=0 root=0"));
}

}  // namespace
}  // namespace deadrank::tests
