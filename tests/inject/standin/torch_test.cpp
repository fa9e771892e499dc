// tests/inject/standin/torch_test.cpp — Goal: unmodified PyTorch runs its real process group, watchdog and
// Flight Recorder without a GPU, and we know what its own tool makes of its own dumps, right or wrong.
#include "tests/inject/standin/torch_jobs.h"

namespace deadrank::tests {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST_F(DeviceTorchOnTheStandIn, AHealthyJobHasEveryValueAndNoDump) {
    for (const char* name : {"healthy", "straggler"}) {
        const EndedJob ended = job(name);
        for (const int rank : {0, 1}) {
            EXPECT_EQ(ended.code(rank), 0) << name << ended.text(rank);
            EXPECT_THAT(ended.text(rank), AllOf(HasSubstr("step 6: 0 wrong"), HasSubstr("everything: good")))
                << name;
        }
        EXPECT_EQ(ended.dumps(), 0u) << name;
    }
}

TEST_F(DeviceTorchOnTheStandIn, CommunicatorsThatDoNotBlockWorkAndGiveUpAPeerThatNeverComes) {
    const EndedJob ended = job("healthy_without_blocking"), absent = job("absent_at_first_without_blocking");
    for (const int rank : {0, 1}) {
        EXPECT_EQ(ended.code(rank), 0) << ended.text(rank);
        EXPECT_THAT(ended.text(rank), AllOf(HasSubstr("step 6: 0 wrong"), HasSubstr("everything: good")));
    }
    EXPECT_THAT(absent.text(0), HasSubstr("torch.distributed.DistBackendError: NCCL timeout in: "));
    EXPECT_EQ(absent.code(0), 1);
    EXPECT_EQ(absent.dumps(), 0u);
}

TEST_F(DeviceTorchOnTheStandIn, ARankThatDoesNotComeIsNamed) {
    const EndedJob two = job("absent"), three = job("absent_of_three");
    expect_time_out(two, 0, 3);
    EXPECT_THAT(two.text(1), HasSubstr("dump signal due to a collective timeout from  rank 0"));
    EXPECT_THAT(two.trace(), HasSubstr("missing ranks: {1}"));
    EXPECT_EQ(two.unfinished(1), json::array()) << "it had done all that it had begun";
    expect_time_out(three, 0, 3);
    expect_time_out(three, 1, 3);
    EXPECT_THAT(three.trace(), HasSubstr("missing ranks: {2}"));
}

TEST_F(DeviceTorchOnTheStandIn, ACallThatDiffersIsLaidAtItsCallersDoor) {
    const EndedJob half = job("half"), other = job("broadcast");
    for (const int rank : {0, 1}) {
        expect_time_out(half, rank, 2);
        expect_time_out(other, rank, 3);
    }
    EXPECT_THAT(half.trace(),
                HasSubstr("Culprit rank 1; Error type: SIZE_OR_SYNTAX_MISMATCH, Expected input sizes: "
                          "'[[1024]]' does not match found input sizes: '[[512]]'"));
    EXPECT_THAT(other.trace(),
                HasSubstr("Culprit rank 1; Error type: COLLECTIVE_TYPE_MISMATCH, Expected collective "
                          "type: 'all_reduce' does not match found collective type: 'broadcast'"));
}

// From here on faults act below torch, so its records say what was asked for, not what was done.
TEST_F(DeviceTorchOnTheStandIn, ACallThatWasLostBelowTorchIsSilentUntilThePartnerFallsBehind) {
    const EndedJob ended = job("skipped");
    EXPECT_THAT(ended.text(1), HasSubstr("step 3: 1024 wrong")) << "the rank goes on with what it has";
    expect_time_out(ended, 0, 6);  // its sixth met the other's seventh
    expect_time_out(ended, 1, 7);
    EXPECT_EQ(ended.dumps(), 2u);
    EXPECT_THAT(ended.trace(), HasSubstr("Culprit rank 1; Error type: COLLECTIVE_STATE_MISMATCH"));
    EXPECT_THAT(text_of(folder / "torchfrtrace.txt"),
                HasSubstr("Culprit rank 1; Error type: COLLECTIVE_STATE_MISMATCH"))
        << "the program as people start it";
}

// A finding: two of three are behind, and the tool takes the one ahead for the measure.
TEST_F(DeviceTorchOnTheStandIn, OneOfThreeThatLostACallGetsTheOthersBlamed) {
    const EndedJob ended = job("skipped_of_three");
    expect_time_out(ended, 0, 6);
    expect_time_out(ended, 1, 6);
    expect_time_out(ended, 2, 7);
    EXPECT_THAT(ended.trace(), AllOf(HasSubstr("Culprit rank 0; Error type: COLLECTIVE_STATE_MISMATCH"),
                                     HasSubstr("Culprit rank 1; Error type: COLLECTIVE_STATE_MISMATCH"),
                                     HasSubstr("missing ranks: {0, 1}"), Not(HasSubstr("Culprit rank 2"))));
}

// A finding: everybody asked for the same, so there is nothing that the tool could compare.
TEST_F(DeviceTorchOnTheStandIn, WhatBreaksBelowTorchLeavesTheToolWithoutAWord) {
    for (const auto& [name, sequence] : {std::pair{"resized", 2}, {"other_operation", 3}, {"stuck", 3}}) {
        const EndedJob ended = job(name);
        for (const int rank : {0, 1}) {
            expect_time_out(ended, rank, sequence);
            EXPECT_EQ(ended.unfinished(rank), json({sequence, "nccl:all_reduce", "scheduled"})) << name;
        }
        EXPECT_EQ(ended.trace(), "") << name;
    }
}

TEST_F(DeviceTorchOnTheStandIn, WithTimingTheRecordTellsThatTheKernelHadBegun) {
    const EndedJob ended = job("stuck_with_timing");
    for (const int rank : {0, 1}) EXPECT_EQ(ended.unfinished(rank), json({3, "nccl:all_reduce", "started"}));
}

TEST_F(DeviceTorchOnTheStandIn, AnAsynchronousErrorIsKnownToItsOwnRankAlone) {
    const EndedJob ended = job("asynchronous_error");
    EXPECT_THAT(ended.text(1), AllOf(HasSubstr("ncclRemoteError"), HasSubstr("checkForNCCLErrorsInternal")));
    EXPECT_EQ(ended.code(1), -6);
    expect_time_out(ended, 0, 3);
    EXPECT_EQ(ended.trace(), "") << "both had enqueued the call";
}

TEST_F(DeviceTorchOnTheStandIn, ACallThatIsRefusedEndsItsRankAndLeavesTheOtherToItsTimeOut) {
    const EndedJob ended = job("refused");
    EXPECT_THAT(ended.text(1), HasSubstr("torch.distributed.DistBackendError: NCCL error"));
    EXPECT_EQ(ended.code(1), 1);
    expect_time_out(ended, 0, 3);
    EXPECT_THAT(ended.trace(), HasSubstr("AssertionError: Missing dump files from ranks {1}"));
}

TEST_F(DeviceTorchOnTheStandIn, ADeadOrStoppedPeerLeavesNoDumpAndIsNamedByItsAbsence) {
    for (const char* name : {"killed", "stopped"}) {
        const EndedJob ended = job(name);
        expect_time_out(ended, 0, 3);
        EXPECT_EQ(ended.code(1), -9) << name;
        EXPECT_EQ(ended.dumps(), 1u) << name;
        EXPECT_THAT(ended.trace(), HasSubstr("AssertionError: Missing dump files from ranks {1}")) << name;
    }
}

TEST_F(DeviceTorchOnTheStandIn, OverANetworkADeadPeerIsKnownBeforeTheTimeOut) {
    const EndedJob ended = job("killed_over_network");
    EXPECT_THAT(ended.text(0),
                AllOf(HasSubstr("socketProgress: Connection closed by remote peer rank 1"),
                      HasSubstr("ncclRemoteError"), Not(HasSubstr("Watchdog caught collective"))));
    EXPECT_EQ(ended.code(0), -6);
}

// A finding: nothing in NCCL or torch looks at values.
TEST_F(DeviceTorchOnTheStandIn, ABitThatWasFlippedIsNoticedByNobody) {
    const EndedJob ended = job("flipped");
    for (const int rank : {0, 1}) {
        EXPECT_THAT(ended.text(rank), HasSubstr("step 3: 1 wrong"));
        EXPECT_EQ(ended.code(rank), 0);
    }
    EXPECT_EQ(ended.dumps(), 0u);
}

// A finding: rank 1's message was lost. Both wait for a message of the other, and rank 0 is blamed for not
// sending its second one.
TEST_F(DeviceTorchOnTheStandIn, ALostMessageIsLaidAtTheReceiversDoor) {
    const EndedJob ended = job("lost_message");
    EXPECT_THAT(ended.text(1), HasSubstr("message: 0.0"));
    expect_time_out(ended, 0, 2);
    expect_time_out(ended, 1, 3);
    EXPECT_THAT(ended.trace(), AllOf(HasSubstr("nccl:recv 1<-0"), HasSubstr("missing ranks: {0}"),
                                     Not(HasSubstr("missing ranks: {1}"))));
}

// A finding: the rank that lost a call ends well, with another call's values in its buffers.
TEST_F(DeviceTorchOnTheStandIn, ALostCallInASubgroupReachesTheOtherMemberAlone) {
    const EndedJob ended = job("skipped_in_subgroup");
    for (const int rank : {0, 1, 2}) EXPECT_EQ(ended.code(rank), 0) << ended.text(rank);
    EXPECT_THAT(ended.text(2), Not(HasSubstr("gathered: [2.0, 3.0]\ngathered: [2.0, 3.0]")));
    expect_time_out(ended, 3, 3);
}

// A finding: new_group() does not take over the time-out that init_process_group() was given; its own is ten
// minutes.
TEST_F(DeviceTorchOnTheStandIn, ASubgroupWithoutATimeOutOfItsOwnWaitsOn) {
    const EndedJob ended = job("skipped_in_subgroup_of_default_timeout");
    EXPECT_EQ(ended.code(3), -9) << "after three time-outs of the world it was ended by us";
    EXPECT_THAT(ended.text(3), Not(HasSubstr("Watchdog")));
    EXPECT_EQ(ended.dumps(), 0u);
}

}  // namespace
}  // namespace deadrank::tests
