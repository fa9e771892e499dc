// tests/inject/standin/torch_versions_test.cpp — Goal: another release of unmodified PyTorch runs on the
// stand-in, too. In 2.15 'nccl' is a process group written anew, and what it lost against the old one is
// known to us.
#include <set>

#include "tests/inject/standin/torch_jobs.h"

namespace deadrank::tests {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

class DeviceNewerTorchOnTheStandIn : public TorchJobs {
protected:
    // Without stack traces in the dumps: this release collects them for half a minute.
    static void SetUpTestSuite() {
        play(why_no_newer_torch(), newer_torch().string(), "TORCH_INCLUDE_STACK_TRACE=0",
             "healthy,absent,half,skipped,asynchronous_error,killed_over_network,skipped_in_subgroup,"
             "watchdog_stuck,absent@nccl-legacy,watchdog_stuck@nccl-legacy");
    }
    static void expect_operation_timed_out(const EndedJob& job, int rank) {
        EXPECT_THAT(job.text(rank), AllOf(HasSubstr("] Operation timed out after "),
                                          HasSubstr("timeout watchdog detected operation timeout")));
        EXPECT_EQ(job.code(rank), -6) << job.text(rank);
    }
    // The names of the calls that the rank's evidence holds; a line cut short by the rank's end has none.
    static std::set<std::string> calls_of(const std::string& job, int rank) {
        std::ifstream lines(folder / job / "evidence" / ("rank" + std::to_string(rank) + ".jsonl"));
        std::set<std::string> calls;
        for (std::string line; std::getline(lines, line);) {
            const json event = json::parse(line, nullptr, false);
            if (event.is_object() && event.contains("op")) calls.insert(event["op"]);
        }
        return calls;
    }
};

TEST_F(DeviceNewerTorchOnTheStandIn, AHealthyJobHasEveryValueAndNoDump) {
    const EndedJob ended = job("healthy");
    for (const int rank : {0, 1}) {
        EXPECT_EQ(ended.code(rank), 0) << ended.text(rank);
        EXPECT_THAT(ended.text(rank), AllOf(HasSubstr("step 6: 0 wrong"), HasSubstr("everything: good")));
    }
    EXPECT_EQ(ended.dumps(), 0u);
}

// A finding: a rank that waits is no longer told through the store to dump, so the one that did not come has
// none, and the tool misses its file instead of the rank's call.
TEST_F(DeviceNewerTorchOnTheStandIn, ARankThatDoesNotComeHasNoDumpAnyMore) {
    const EndedJob ended = job("absent"), legacy = job("absent@nccl-legacy");
    expect_operation_timed_out(ended, 0);
    EXPECT_EQ(ended.dumps(), 1u);
    EXPECT_EQ(ended.unfinished(0), json({3, "nccl2:all_reduce", "scheduled"}));
    EXPECT_THAT(ended.trace(), HasSubstr("AssertionError: Missing dump files from ranks {1}"));
    expect_time_out(legacy, 0, 3);
    EXPECT_EQ(legacy.dumps(), 2u);
    EXPECT_THAT(legacy.trace(), HasSubstr("missing ranks: {1}"));
}

TEST_F(DeviceNewerTorchOnTheStandIn, CallsThatDifferAreToldByTheToolAsBefore) {
    const EndedJob half = job("half"), skipped = job("skipped");
    for (const int rank : {0, 1}) {
        expect_operation_timed_out(half, rank);
        expect_operation_timed_out(skipped, rank);
    }
    EXPECT_THAT(half.trace(), HasSubstr("Culprit rank 1; Error type: SIZE_OR_SYNTAX_MISMATCH"));
    EXPECT_THAT(skipped.trace(), HasSubstr("Culprit rank 1; Error type: COLLECTIVE_STATE_MISMATCH"));
}

TEST_F(DeviceNewerTorchOnTheStandIn, ErrorsOfNcclEndTheRankThatHasThem) {
    const EndedJob own = job("asynchronous_error"), peer = job("killed_over_network");
    const char* const words = "nccl hit async error: remote process exited or there was a network error";
    EXPECT_THAT(own.text(1), HasSubstr(words));
    EXPECT_EQ(own.code(1), -6);
    expect_operation_timed_out(own, 0);
    EXPECT_THAT(peer.text(0), AllOf(HasSubstr("socketProgress: Connection closed by remote peer rank 1"),
                                    HasSubstr(words), Not(HasSubstr("Operation timed out"))));
    EXPECT_EQ(peer.code(0), -6);
}

// A list of tensors is gathered by broadcasts here: the plan's all_gather never comes, so nothing is lost.
TEST_F(DeviceNewerTorchOnTheStandIn, GathersAListByBroadcasts) {
    const EndedJob ended = job("skipped_in_subgroup");
    for (const int rank : {0, 1, 2, 3}) EXPECT_EQ(ended.code(rank), 0) << ended.text(rank);
    EXPECT_THAT(calls_of("skipped_in_subgroup", 2),
                AllOf(Contains("broadcast"), Not(Contains("all_gather"))));
}

// A finding: the new process group has no heartbeat monitor. The old one still has.
TEST_F(DeviceNewerTorchOnTheStandIn, AStuckWatchdogIsNoticedByTheOldProcessGroupAlone) {
    const EndedJob ended = job("watchdog_stuck"), legacy = job("watchdog_stuck@nccl-legacy");
    expect_operation_timed_out(ended, 0);
    EXPECT_EQ(ended.code(1), -9) << "it was ended by us";
    EXPECT_THAT(ended.text(1), Not(HasSubstr("stuck")));
    EXPECT_EQ(legacy.code(1), -6);
    EXPECT_THAT(legacy.text(1), HasSubstr("ProcessGroupNCCL's watchdog got stuck for 3 seconds"));
}

}  // namespace
}  // namespace deadrank::tests
