// tests/inject/standin/torch_monitor_test.cpp — Goal: torch's heartbeat monitor, which watches the watchdog,
// acts on the stand-in as on GPUs: one that is stuck inside NCCL costs the process, and without a monitor
// hangs it.
#include "tests/inject/standin/torch_jobs.h"

namespace deadrank::tests {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST_F(DeviceTorchOnTheStandIn, AWatchdogThatIsStuckIsEndedByItsMonitor) {
    const EndedJob ended = job("watchdog_stuck");
    EXPECT_THAT(ended.text(1),
                AllOf(HasSubstr("step 3: 8"), Not(HasSubstr("one more")),
                      HasSubstr("ProcessGroupNCCL's watchdog got stuck for 3 seconds without making progress "
                                "in monitoring enqueued collectives."),
                      HasSubstr("Terminating the process after attempting to dump debug info, due to "
                                "ProcessGroupNCCL watchdog hang.")))
        << "all its calls had ended well";
    EXPECT_EQ(ended.code(1), -6);
    EXPECT_EQ(ended.unfinished(1), json::array());
    expect_time_out(ended, 0, 4);
    EXPECT_THAT(ended.trace(), HasSubstr("missing ranks: {1}"));
}

// A finding: the rank's own next call waits, as if the watchdog held the communicator's lock.
TEST_F(DeviceTorchOnTheStandIn, WithoutAMonitorAStuckWatchdogHangsItsRankAtTheNextCall) {
    const EndedJob ended = job("watchdog_stuck_unwatched");
    EXPECT_THAT(ended.text(1),
                AllOf(HasSubstr("one more"), Not(HasSubstr("step 4")),
                      HasSubstr("ProcessGroupNCCL monitor thread is disabled, but would have terminated the "
                                "process"),
                      HasSubstr("due to ProcessGroupNCCL watchdog hang.")));
    EXPECT_EQ(ended.code(1), -9) << "it was ended by us";
    EXPECT_THAT(ended.text(0), HasSubstr("Watchdog caught collective operation timeout"));
    EXPECT_THAT(ended.trace(), HasSubstr("missing ranks: {1}"));
}

// Which of the two the monitor notices first, the time-out or the hang, is a matter of the machine's load.
TEST_F(DeviceTorchOnTheStandIn, AnAbortThatHangsIsEndedByTheMonitorAlone) {
    const EndedJob ended = job("abort_stuck"), unwatched = job("abort_stuck_unwatched");
    expect_time_out(ended, 0, 3);
    const char* const last = "Terminating the process after attempting to dump debug info, due to ";
    EXPECT_THAT(ended.text(0), HasSubstr(last));
    EXPECT_THAT(ended.trace(), HasSubstr("{1}")) << "its call is missing, or its dump";
    EXPECT_EQ(unwatched.code(0), -9) << "it was ended by us";
    EXPECT_THAT(unwatched.text(0),
                AllOf(HasSubstr("Watchdog caught collective operation timeout"), Not(HasSubstr(last)),
                      HasSubstr("ProcessGroupNCCL monitor thread is disabled, but would have terminated")));
}

}  // namespace
}  // namespace deadrank::tests
