// tests/sim/store_test.cpp — Meeting at the store: who listens, who connects, and each measured way to fail.
#include <gmock/gmock.h>

#include "tests/sim/cluster_harness.h"

namespace deadrank::sim {
namespace {

using namespace std::chrono_literals;
using testing::Each;
using testing::ElementsAre;

// Rank 0 hosts; all add themselves and wait for the last.
void meet_at_store(World& world) {
    const std::string endpoint = *world.env().get("MASTER_ADDR") + ":" + *world.env().get("MASTER_PORT");
    Store& store = world.rendezvous(endpoint, world.env().get("RANK") == "0", 10s);
    if (store.add("joined", 1) == world.processes()) store.set("all", "here");
    const auto all = store.wait("all", 10s);
    world.log(all ? *all : "timed out with " + std::to_string(store.add("joined", 0)));
    world.timer().sleep(50ms);  // a host that leaves first takes the store with it
}

Trial start_with_store(int nodes, int gpus, const Setup& setup = {}) {
    return play(bare(nodes, gpus), meet_at_store, setup);
}

TEST(TcpStore, BringsAllTogether) {
    const Trial trial = start_with_store(2, 2);
    for (Rank rank = 0; rank < 4; ++rank) EXPECT_THAT(trial.lines(rank), ElementsAre("here"));
}

TEST(TcpStore, AMissingRankTimesTheOthersOut) {
    const Trial trial = play(bare(1, 3), [](World& world) {
        if (world.process() != 2) meet_at_store(world);
    });
    EXPECT_THAT(trial.lines(0), ElementsAre("timed out with 2"));
}

TEST(TcpStore, AWrongPortIsAConnectTimeOutThatIsNotKept) {
    const Trial trial =
        start_with_store(1, 2, [](Cluster& cluster) { cluster.set_env(1, "MASTER_PORT", "1"); });
    EXPECT_TRUE(trial.says(
        1, "The client socket has timed out after 10000ms while trying to connect to (node0, 1)."));
    EXPECT_GT(trial.times<results::RankExit>(1).at(0), 16s);
    EXPECT_TRUE(trial.says(0, "timed out with 1"));
}

TEST(TcpStore, APortThatIsNoNumberIsPythonsError) {
    const Trial trial =
        start_with_store(1, 2, [](Cluster& cluster) { cluster.set_env(1, "MASTER_PORT", "abc"); });
    EXPECT_TRUE(trial.says(1, "ValueError: invalid literal for int() with base 10: 'abc'"));
}

TEST(TcpStore, AnUnresolvableNameIsNotMentionedInTheException) {
    const Trial trial =
        start_with_store(1, 2, [](Cluster& cluster) { cluster.set_env(1, "MASTER_ADDR", "nosuch.invalid"); });
    EXPECT_TRUE(trial.says(1, "cannot be retrieved (gai error: -2 - Name or service not known)"));
    EXPECT_TRUE(trial.says(1, "DistNetworkError: The client socket has timed out after 10000ms"));
}

TEST(TcpStore, ABrokenNameFailsOnlyWhereItIsBroken) {
    const Trial trial = start_with_store(
        2, 1, [](Cluster& cluster) { cluster.break_name(1, "node0", NameTrouble::unresolvable); });
    EXPECT_TRUE(trial.says(1, "timed out after 10000ms while trying to connect to (node0, 29500)"));
}

TEST(TcpStore, AHostWithoutARouteSaysSo) {
    const Trial trial = start_with_store(
        2, 1, [](Cluster& cluster) { cluster.break_name(1, "node0", NameTrouble::unroutable); });
    EXPECT_TRUE(trial.says(1, "(errno: 113 - No route to host)"));
}

// A way that is cut, mute or refused is so for one rank alone; the others miss it.
TEST(TcpStore, AWayThatIsCutIsAClosedConnection) {
    const Trial trial =
        start_with_store(2, 1, [](Cluster& cluster) { cluster.change_store(1, StoreTrouble::cut, 0s); });
    EXPECT_TRUE(trial.says(1, "Failed to recv, got 0 bytes. Connection was likely closed."));
    EXPECT_TRUE(trial.says(0, "timed out with 1"));
}

TEST(TcpStore, ARefusedRankTriesUntilItsTimeIsUp) {
    const Trial trial =
        start_with_store(2, 1, [](Cluster& cluster) { cluster.change_store(1, StoreTrouble::refuse, 0s); });
    EXPECT_TRUE(trial.says(1, "timed out after 10000ms while trying to connect to (node0, 29500)"));
}

TEST(TcpStore, AMuteWaySaysNothingAndComesBackUnharmed) {
    const auto mute = [](Cluster& cluster) { cluster.change_store(1, StoreTrouble::mute, 0s); };
    EXPECT_TRUE(start_with_store(2, 1, mute).lines(1).empty());
    const Trial back = start_with_store(2, 1, [&](Cluster& cluster) {
        mute(cluster);
        cluster.at(5s, [&] { cluster.change_store(1, StoreTrouble::none, 0s); });
    });
    EXPECT_THAT(back.lines(1), ElementsAre("here"));
}

TEST(TcpStore, AFarStoreAnswersLate) {
    const Trial near = start_with_store(2, 1);
    const Trial far =
        start_with_store(2, 1, [](Cluster& cluster) { cluster.change_store(1, StoreTrouble::late, 10ms); });
    EXPECT_THAT(far.lines(1), ElementsAre("here"));
    EXPECT_GT(far.times<results::RankExit>(1).at(0), near.times<results::RankExit>(1).at(0) + 50ms);
}

// Goal: a wait for a key is bounded, however late the answers are.
TEST(TcpStore, AnswersThatAreLaterThanItsPatienceTimeAWaitOut) {
    const auto waiting = [](Time late) {
        return play(
            bare(2, 1),
            [](World& world) {
                const bool host = world.process() == 0;
                Store& store = world.rendezvous("node0:29500", host, 10s);
                if (host) store.set("all", "here");
                if (host) return world.timer().sleep(60s);
                const auto all = store.wait("all", 8s);
                world.log(all ? *all : "no answer");
            },
            [late](Cluster& cluster) { cluster.change_store(1, StoreTrouble::late, late); });
    };
    const Trial late = waiting(5s);
    EXPECT_TRUE(late.says(1, "DistStoreError: wait timeout after 8000ms, keys: /all"));
    EXPECT_LT(late.times<results::RankExit>(1).at(0), 20s);
    EXPECT_THAT(waiting(3s).lines(1), ElementsAre("here"));
}

TEST(TcpStore, ATakenPortStopsTheHost) {
    const Trial trial =
        start_with_store(1, 2, [](Cluster& cluster) { cluster.take_port(0, "29500", false); });
    EXPECT_TRUE(trial.says(
        0, "port: 29500, useIpv6: false, code: -98, name: EADDRINUSE, message: address already in use"));
}

TEST(TcpStore, AMuteServiceHoldsItsClientsForEver) {
    const Trial trial = start_with_store(1, 2, [](Cluster& cluster) { cluster.take_port(0, "29500", true); });
    EXPECT_THAT(trial.result.ends, ElementsAre(ProcessEnd::failed, ProcessEnd::stuck));
}

TEST(TcpStore, TwoRanksZeroFightForThePort) {
    const Trial trial = start_with_store(1, 2, [](Cluster& cluster) { cluster.set_env(1, "RANK", "0"); });
    EXPECT_TRUE(trial.says(1, "EADDRINUSE"));
    EXPECT_TRUE(trial.says(0, "timed out with 1"));
}

TEST(TcpStore, DiesWithItsHost) {
    const Trial trial = play(
        bare(1, 3),
        [](World& world) {
            if (world.process() == 2) return;
            meet_at_store(world);
        },
        [](Cluster& cluster) { cluster.at(5s, [&] { cluster.kill(0, 9); }); });
    EXPECT_TRUE(trial.says(1, "Failed to recv, got 0 bytes. Connection was likely closed."));
    EXPECT_EQ(trial.times<results::RankExit>(1).at(0), 5s);
}

TEST(TcpStore, AnOldTorchAndANewOneDoNotUnderstandEachOther) {
    const Trial trial =
        start_with_store(1, 2, [](Cluster& cluster) { cluster.set_version(1, "torch", "1.13.1"); });
    EXPECT_TRUE(trial.says(1, "RuntimeError: Connection reset by peer"));
    EXPECT_TRUE(trial.says(0, "timed out with 1"));
}

TEST(TcpStore, ManyMeetQuickly) {
    const Trial trial = start_with_store(32, 8);
    EXPECT_THAT(trial.result.ends, Each(ProcessEnd::finished));
    EXPECT_LT(trial.result.end, 1s);
}

}  // namespace
}  // namespace deadrank::sim
