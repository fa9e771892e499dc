// tests/sim/comm_errors_test.cpp — Errors that a rank sees of its own communicator: an answer, and an abort.
#include <gmock/gmock.h>

#include "tests/sim/cluster_harness.h"

namespace deadrank::sim {
namespace {

using testing::ElementsAre;
using Numbers = std::vector<Number>;

TEST(CommErrors, AnAnswerOtherThanOkRaisesWithNcclsWords) {
    AlterCall fail(CallKind::collective, [](Call& call) { call.answer = Code::system_error; });
    const Trial trial = play(
        bare(1, 2),
        [](World& world) {
            Numbers data{1};
            everybody(world)->all_reduce(data);
        },
        altering(fail, 1));
    EXPECT_TRUE(
        trial.says(1, "unhandled system error (run with NCCL_DEBUG=INFO for details), NCCL version 2.28.9"));
    EXPECT_EQ(trial.of<results::RankExit>(1).at(0).code, 1);
    EXPECT_THAT(trial.result.ends, ElementsAre(ProcessEnd::stuck, ProcessEnd::failed));
}

TEST(CommErrors, AnAbortEndsTheRanksOwnCallsAndLeavesItsPeersWaiting) {
    const Trial trial = play(bare(1, 2), [](World& world) {
        Numbers data{1};
        const auto comm = everybody(world);
        const auto work = comm->all_reduce_async(data);
        if (world.process() == 0) {
            comm->abort();
            try {
                work->wait();
            } catch (const LibraryError& error) {
                world.log(error.answer == Code::aborted ? "aborted" : "something else");
            }
            return;
        }
        work->wait();
    });
    EXPECT_TRUE(trial.says(0, "aborted"));
    EXPECT_THAT(trial.result.ends, ElementsAre(ProcessEnd::finished, ProcessEnd::stuck));
}

}  // namespace
}  // namespace deadrank::sim
