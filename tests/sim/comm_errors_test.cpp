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

// Another operation in the place of this one meets buffers that were made for this one.
TEST(CommErrors, AnOperationWithTheWrongBuffersIsRefusedBeforeItBegins) {
    const auto swapped_to = [](Op op, const Script& call) {
        AlterCall swap(CallKind::collective, [op](Call& made) { made.op = op; });
        return play(bare(1, 2), call, altering(swap, 0));
    };
    const Script all_reduce = [](World& world) {
        Numbers data{1, 2};
        everybody(world)->all_reduce(data);
    };
    EXPECT_TRUE(swapped_to(Op::all_gather, all_reduce)
                    .says(0, "output tensor size must be equal to world_size times input tensor size"));
    EXPECT_TRUE(swapped_to(Op::reduce_scatter, all_reduce)
                    .says(0, "input tensor must be the same size as output size times world size"));
    const Script all_gather = [](World& world) {
        Numbers mine{1}, all{0, 0};
        everybody(world)->all_gather(mine, all);
    };
    EXPECT_FALSE(swapped_to(Op::all_reduce, all_gather).says(0, "Error")) << "equal shapes hide it";
}

}  // namespace
}  // namespace deadrank::sim
