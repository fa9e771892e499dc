// tests/sim/p2p_test.cpp — Sends and receives: order, groups, and sizes that do not agree.
#include <gmock/gmock.h>

#include "tests/sim/cluster_harness.h"

namespace deadrank::sim {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using Numbers = std::vector<Number>;

TEST(PointToPoint, DeliversInOrderWhateverTheTagSays) {
    Numbers got;
    const Trial trial = play(bare(2, 1), [&](World& world) {
        const auto comm = everybody(world);
        if (world.process() == 0) {
            comm->send(Numbers{7, 8}, 1, 5);
            comm->send(Numbers{9}, 1, 6);
        } else {
            Numbers two(2), one(1);
            comm->recv(two, 0, 6);
            comm->recv(one, 0, 5);
            got = {two[0], two[1], one[0]};
        }
    });
    EXPECT_THAT(got, ElementsAre(7, 8, 9));
    EXPECT_EQ(trial.of<results::P2pEnter>(0).at(1).seq, 2);
    EXPECT_EQ(trial.of<results::P2pLeave>(1).size(), 2u);
}

TEST(PointToPoint, TwoWhoReceiveFirstWaitForEver) {
    const Trial trial = play(bare(1, 2), [](World& world) {
        const auto comm = everybody(world);
        Numbers data{1};
        comm->recv(data, 1 - world.process());
        comm->send(data, 1 - world.process());
    });
    EXPECT_EQ(trial.result.ending, Ending::deadlock);
    EXPECT_EQ(trial.result.waits_for.at(0), "rank 0 waits in recv from rank 1 on world");
}

TEST(PointToPoint, AGroupMayExchange) {
    std::vector<Number> got(2);
    const Trial trial = play(bare(1, 2), [&](World& world) {
        const auto comm = everybody(world);
        const Numbers mine{world.process() + 1};
        Numbers other(1);
        comm->group_start();
        comm->send(mine, 1 - world.process());
        comm->recv(other, 1 - world.process());
        comm->group_end();
        got[static_cast<std::size_t>(world.process())] = other[0];
    });
    EXPECT_EQ(trial.result.ending, Ending::completed);
    EXPECT_THAT(got, ElementsAre(2, 1));
}

TEST(PointToPoint, AGroupEndWithoutAStartIsRefused) {
    const Trial trial = play(bare(1, 1), [](World& world) { everybody(world)->group_end(); });
    EXPECT_TRUE(trial.says(0, "ncclGroupEnd: not in a group call."));
}

TEST(PointToPoint, AReceiverOfAnotherSizeIsTruncatedAndItsSenderKnowsNothing) {
    ClusterSettings settings = bare(2, 1);
    settings.watchdog = true;
    const Trial trial = play(settings, [](World& world) {
        const auto comm = everybody(world);
        if (world.process() == 0) {
            comm->send(Numbers{1, 2, 3, 4}, 1);
        } else {
            Numbers data(2);
            comm->recv(data, 0);
        }
    });
    EXPECT_THAT(trial.result.ends, ElementsAre(ProcessEnd::finished, ProcessEnd::killed));
    EXPECT_TRUE(trial.says(1, "Message truncated : received 16 bytes instead of 8"));
    EXPECT_EQ(trial.of<results::CommError>(1).at(0).code, Code::internal_error);
    EXPECT_LT(trial.result.end, 3s) << "errors show at the watchdog's next look";
}

TEST(PointToPoint, WithoutAWatchdogATruncatedReceiverWaitsForEver) {
    Code polled = Code::ok;
    const Trial trial = play(bare(2, 1), [&](World& world) {
        const auto comm = everybody(world);
        Numbers data(world.process() == 0 ? 4 : 2);
        if (world.process() == 0) {
            comm->send(data, 1);
        } else {
            const auto work = comm->recv_async(data, 0);
            world.timer().sleep(1s);
            polled = comm->async_error();
            work->wait();
        }
    });
    EXPECT_EQ(polled, Code::internal_error);
    EXPECT_THAT(trial.result.ends, ElementsAre(ProcessEnd::finished, ProcessEnd::stuck));
}

TEST(PointToPoint, APeerThatDiesInFlightLeavesTheOtherWaiting) {
    const Trial trial = play(
        bare(2, 1),
        [](World& world) {
            const auto comm = everybody(world);
            Numbers data(1 << 20);
            if (world.process() == 0) {
                comm->send(data, 1);
            } else {
                comm->recv(data, 0);
            }
        },
        [](Cluster& cluster) { cluster.at(30'300us, [&] { cluster.kill(0, 9); }); });
    EXPECT_THAT(trial.result.ends, ElementsAre(ProcessEnd::killed, ProcessEnd::stuck));
    EXPECT_THAT(trial.result.waits_for.at(0), HasSubstr("recv from rank 0, which exited (signal 9)"));
}

TEST(PointToPoint, ASendThatNobodyWaitsForStillArrives) {
    Numbers got(2);
    const Trial trial = play(bare(1, 2), [&](World& world) {
        const auto comm = everybody(world);
        if (world.process() == 0) {
            {
                const Numbers gone{3, 4};
                (void)comm->send_async(gone, 1);
            }
            world.timer().sleep(2s);
        } else {
            world.timer().sleep(1s);
            comm->recv(got, 0);
        }
    });
    EXPECT_EQ(trial.result.ending, Ending::completed);
    EXPECT_THAT(got, ElementsAre(3, 4));
}

TEST(PointToPoint, APeerOutsideTheCommunicatorIsRefused) {
    const Trial trial = play(bare(1, 2), [](World& world) {
        Numbers data{1};
        everybody(world)->send(data, 5);
    });
    EXPECT_TRUE(trial.says(0, "Send : invalid peer 5 (peer should be in the 0..2 range)"));
}

}  // namespace
}  // namespace deadrank::sim
