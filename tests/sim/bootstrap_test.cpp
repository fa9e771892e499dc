// tests/sim/bootstrap_test.cpp — Rows of NCCL's start-up, measured on the stock library, one test each.
#include <gmock/gmock.h>

#include "sim/collectives/nccl_settings.h"
#include "sim/machine/environment.h"
#include "tests/sim/cluster_harness.h"

namespace deadrank::sim {
namespace {

using namespace std::chrono_literals;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

void meet(World& world) {
    const auto comm = everybody(world);
    Number data[] = {1};
    comm->all_reduce(data);
}

Trial start(int nodes, int gpus, const Setup& setup) { return play(bare(nodes, gpus), meet, setup); }

Setup with_env(Rank rank, const std::string& name, const std::string& value) {
    return [=](Cluster& cluster) { cluster.set_env(rank, name, value); };
}

Setup with_nccl(Rank rank, const std::string& version) {
    return [=](Cluster& cluster) { cluster.set_version(rank, "nccl", version); };
}

std::string failure_of(const Trial& trial, Rank rank) {
    const auto errors = trial.of<results::CommError>(rank);
    return errors.empty() ? "" : std::string(trial.evidence.text(errors.front().message));
}

bool all_hang(const Trial& trial) {
    for (const ProcessEnd end : trial.result.ends) {
        if (end != ProcessEnd::stuck) return false;
    }
    return true;
}

TEST(Bootstrap, NumbersCommunicatorsAndShowsTheirMembers) {
    const Trial trial = play(bare(2, 2), [](World& world) {
        everybody(world);
        const Rank base = world.process() / 2 * 2;
        world.communicator({"tp", {base, base + 1}, world.process()});
    });
    const auto entered = trial.of<results::CommInitEnter>(3);
    ASSERT_EQ(entered.size(), 2u);
    EXPECT_EQ(entered[0].comm, 1u);
    EXPECT_EQ(trial.evidence.text(entered[0].members), "0-3");
    EXPECT_EQ(entered[1].rank_in_comm, 1);
    EXPECT_EQ(trial.evidence.text(entered[1].members), "2-3");
    const auto left = trial.of<results::CommInitLeave>(3);
    EXPECT_EQ(trial.evidence.text(left.at(0).transport), "NET/IB");
    EXPECT_EQ(trial.evidence.text(left.at(1).transport), "NVLink");
}

TEST(Bootstrap, WaitsForEverForAMissingMemberWithoutAWord) {
    const Trial trial = play(bare(1, 3), [](World& world) {
        if (world.process() != 1) meet(world);
    });
    EXPECT_THAT(trial.result.ends, ElementsAre(ProcessEnd::stuck, ProcessEnd::finished, ProcessEnd::stuck));
    EXPECT_THAT(trial.result.waits_for.at(0),
                "rank 0 waits in comm_init of world for rank 1, which finished");
    EXPECT_TRUE(trial.lines(0).empty());
}

TEST(Bootstrap, WithoutItsFirstMemberTheUniqueIdNeverComes) {
    ClusterSettings settings = bare(1, 2);
    settings.store_timeout = 60s;
    const Trial trial = play(settings, [](World& world) {
        if (world.process() == 1) meet(world);
    });
    EXPECT_TRUE(trial.says(
        1,
        "retrieving ncclUniqueId from [0] via c10d key-value store by key '0', but store->get('0') "
        "got error: wait timeout after 60000ms"));
}

TEST(Bootstrap, MembersWhoCountDifferentlyHangAndOnlyTheRootSpeaks) {
    const Trial trial = play(bare(1, 3), [](World& world) {
        if (world.process() == 2) return;
        CommRequest request{"world", {0, 1}, world.process()};
        if (world.process() == 1) request.members = {0, 1, 2};
        world.communicator(request);
    });
    EXPECT_TRUE(trial.says(0, "Bootstrap Root : mismatch in info from procs, nranks 2 vs 3"));
    EXPECT_TRUE(trial.lines(1).empty());
    EXPECT_EQ(trial.result.ends[0], ProcessEnd::stuck);
    EXPECT_EQ(trial.result.ends[1], ProcessEnd::stuck);
}

TEST(Bootstrap, TwoWhoClaimOnePlaceHangAll) {
    const Trial trial = play(bare(1, 3), [](World& world) {
        world.communicator({"world", {0, 1, 2}, world.process() == 2 ? 1 : world.process()});
    });
    EXPECT_TRUE(all_hang(trial));
    EXPECT_TRUE(trial.says(0, "Bootstrap Root : rank 1 of 3 ranks has already checked in"));
}

TEST(Bootstrap, ARankOutsideItsGroupIsRefused) {
    const Trial trial = play(bare(1, 2), [](World& world) {
        if (world.process() == 1) world.communicator({"world", {0, 1}, 9});
    });
    EXPECT_TRUE(trial.says(1, "Invalid rank requested : 9/2"));
}

TEST(Bootstrap, NewerReleasesCompareVersionsAndSaySo) {
    const Trial trial = start(1, 2, with_nccl(1, "2.28.3"));
    EXPECT_THAT(trial.result.ends, Each(ProcessEnd::failed));
    EXPECT_EQ(failure_of(trial, 0),
              "Mismatched NCCL version detected : rank 1 version 22803 rank 0 version 22809");
    EXPECT_TRUE(trial.says(1, "ncclInvalidUsage"));
}

TEST(Bootstrap, OldReleasesDoNotCompareVersions) {
    const Trial trial = start(1, 2, [](Cluster& cluster) {
        cluster.set_version(0, "nccl", "2.21.5");
        cluster.set_version(1, "nccl", "2.20.3");
    });
    EXPECT_THAT(trial.result.ends, Each(ProcessEnd::finished));
}

TEST(Bootstrap, ReleasesWithOtherRootMessagesHangSilently) {
    const Trial older = start(1, 2, with_nccl(0, "2.21.5"));
    EXPECT_TRUE(all_hang(older));
    EXPECT_TRUE(older.says(0, "Message truncated : received 172 bytes instead of 64"));
    const Trial newer = start(1, 2, with_nccl(0, "2.29.7"));
    EXPECT_TRUE(all_hang(newer));
    EXPECT_TRUE(newer.says(0, "Failed to malloc -107080580992 bytes"));
}

TEST(Bootstrap, ReleasesWithOtherPeerMessagesFailMisleadingly) {
    const Trial trial = start(1, 2, with_nccl(1, "2.26.2"));
    EXPECT_THAT(trial.result.ends, Each(ProcessEnd::failed));
    EXPECT_THAT(failure_of(trial, 1), HasSubstr("Message truncated"));
    EXPECT_TRUE(trial.says(0, "internal error - please report this issue to the NCCL developers"));
}

TEST(Bootstrap, TwoRanksOnOneDeviceAreDetected) {
    const Trial trial = start(1, 2, with_env(1, "LOCAL_RANK", "0"));
    EXPECT_THAT(trial.result.ends, Each(ProcessEnd::failed));
    EXPECT_EQ(failure_of(trial, 0), "Duplicate GPU detected : rank 0 and rank 1 both on CUDA device 1b000");
}

TEST(Bootstrap, AnUnknownInterfaceFailsItsRankAndHangsTheOthers) {
    const Trial trial = start(1, 3, with_env(1, "NCCL_SOCKET_IFNAME", "nosuch0"));
    EXPECT_THAT(trial.result.ends, ElementsAre(ProcessEnd::stuck, ProcessEnd::failed, ProcessEnd::stuck));
    EXPECT_EQ(failure_of(trial, 1), "Bootstrap : no socket interface found");
    EXPECT_EQ(trial.of<results::CommInitLeave>(1).at(0).result, Code::invalid_usage);
}

TEST(Bootstrap, TheLoopbackReachesPeersOnTheSameNodeOnly) {
    EXPECT_THAT(start(1, 2, with_env(1, "NCCL_SOCKET_IFNAME", "lo")).result.ends, Each(ProcessEnd::finished));
    EXPECT_TRUE(all_hang(start(2, 1, with_env(1, "NCCL_SOCKET_IFNAME", "lo"))));
}

TEST(Bootstrap, AnUnroutableInterfaceThatSortsFirstIsTaken) {
    const auto add = [](Cluster& cluster) { cluster.add_interface(1, {"br-dead", false}, true); };
    EXPECT_TRUE(all_hang(start(2, 1, add)));
    EXPECT_THAT(start(2, 1,
                      [&](Cluster& cluster) {
                          add(cluster);
                          cluster.set_env(1, "NCCL_SOCKET_IFNAME", "eth");
                      })
                    .result.ends,
                Each(ProcessEnd::finished));
}

TEST(Bootstrap, DockerIsNotTakenWhileSomethingBetterIsThere) {
    const Trial trial = start(2, 1, [](Cluster& cluster) {
        cluster.add_interface(1, {"docker0", false}, true);
    });
    EXPECT_THAT(trial.result.ends, Each(ProcessEnd::finished));
}

TEST(Bootstrap, AMisspelledAlgorithmFailsItsRankOnly) {
    const Trial trial = start(1, 2, with_env(1, "NCCL_ALGO", "Rign"));
    EXPECT_EQ(failure_of(trial, 1), "Unrecognized element token \"Rign\" when parsing \"Rign\"");
    EXPECT_THAT(trial.result.ends, ElementsAre(ProcessEnd::stuck, ProcessEnd::failed));
}

TEST(Bootstrap, ADifferentAlgorithmPassesTheStartAndHangsTheFirstCall) {
    const Trial trial = start(1, 2, with_env(1, "NCCL_ALGO", "Tree"));
    EXPECT_EQ(trial.of<results::CommInitLeave>(0).at(0).result, Code::ok);
    EXPECT_TRUE(all_hang(trial));
}

TEST(Bootstrap, DifferentChannelLimitsFailWithAMisleadingInternalError) {
    const Trial trial = start(1, 2, with_env(1, "NCCL_MAX_NCHANNELS", "1"));
    EXPECT_THAT(trial.result.ends, Each(ProcessEnd::failed));
    EXPECT_EQ(failure_of(trial, 0), "Message truncated : received 1024 bytes instead of 512");
    EXPECT_EQ(trial.of<results::CommError>(0).at(0).code, Code::internal_error);
}

TEST(Bootstrap, SettingsThatNobodyComparesPass) {
    for (const char* name :
         {"NCCL_BUFFSIZE", "NCCL_NSOCKS_PERTHREAD", "NCCL_CROSS_NIC", "NCCL_IB_TIMEOUTS"}) {
        EXPECT_THAT(start(1, 2, with_env(1, name, "abc")).result.ends, Each(ProcessEnd::finished)) << name;
    }
}

TEST(Bootstrap, AMissingNetworkPluginFailsItsRankOnly) {
    const Trial trial = start(1, 2, with_env(1, "NCCL_NET", "OFI"));
    EXPECT_EQ(failure_of(trial, 1), "Failed to initialize any NET plugin");
    EXPECT_EQ(trial.result.ends[0], ProcessEnd::stuck);
}

TEST(Bootstrap, RanksThatAskDifferentRootsHang) {
    EXPECT_TRUE(all_hang(start(1, 2, with_env(1, "NCCL_COMM_ID", "10.0.0.9:1234"))));
}

TEST(Bootstrap, ARootAddressWithoutAPortIsNoticedOnlyAfterAllRetries) {
    const Trial trial = start(1, 2, with_env(1, "NCCL_COMM_ID", "127.0.0.1"));
    EXPECT_THAT(failure_of(trial, 1), HasSubstr("connect to 127.0.0.1<0> returned Connection refused"));
    EXPECT_GT(trial.times<results::CommInitLeave>(1).at(0), 59s);
}

TEST(Bootstrap, WrongDebugLevelsSilenceTheWarnings) {
    const Trial trial = start(1, 2, [](Cluster& cluster) {
        cluster.set_env(1, "NCCL_SOCKET_IFNAME", "nosuch0");
        cluster.set_env(1, "NCCL_DEBUG", "INF");
    });
    EXPECT_FALSE(trial.says(1, "NCCL WARN"));
    EXPECT_EQ(failure_of(trial, 1), "Bootstrap : no socket interface found");
}

TEST(Bootstrap, FullSharedMemoryIsASystemError) {
    const Trial trial = start(1, 2, [](Cluster& cluster) {
        HostChange change;
        change.shared_memory_limit = 12 << 20;
        cluster.change_host(0, change);
    });
    EXPECT_THAT(failure_of(trial, 1), HasSubstr("Error while creating shared memory segment"));
    EXPECT_EQ(trial.of<results::CommError>(1).at(0).code, Code::system_error);
}

TEST(Bootstrap, TooFewFileHandlesAreASystemError) {
    const Trial trial = start(1, 2, [](Cluster& cluster) {
        HostChange change;
        change.open_files_limit = 20;
        cluster.change_host(0, change);
    });
    EXPECT_THAT(failure_of(trial, 1), HasSubstr("Too many open files"));
}

// Room for one communicator at a time: whoever lets go of one closes its sockets, and unmaps its memory.
TEST(Bootstrap, ACommunicatorThatIsLetGoGivesBackWhatItTook) {
    const auto many = [](World& world) {
        for (int i = 0; i < 20; ++i) meet(world);
    };
    const Trial trial = play(bare(1, 2), many, [](Cluster& cluster) {
        HostChange change;
        change.open_files_limit = 40;
        change.shared_memory_limit = 20 << 20;
        cluster.change_host(0, change);
    });
    EXPECT_EQ(failure_of(trial, 0), "");
    EXPECT_EQ(failure_of(trial, 1), "");
    EXPECT_EQ(trial.of<results::CommInitLeave>(1).size(), 20u);
}

TEST(Bootstrap, AMemberThatIsKilledWhileAllConnectHangsTheOthers) {
    const Trial trial = start(1, 3, [](Cluster& cluster) { cluster.at(10ms, [&] { cluster.kill(1, 9); }); });
    EXPECT_THAT(trial.result.ends, ElementsAre(ProcessEnd::stuck, ProcessEnd::killed, ProcessEnd::stuck));
}

TEST(Bootstrap, ASkippedCreationLeavesANullCommunicator) {
    AlterCall skip(CallKind::comm_init, [](Call& call) { call.skip = true; });
    const Trial trial = play(bare(1, 2), meet, altering(skip, 1));
    EXPECT_TRUE(trial.says(1, "AllReduce : comm argument is NULL"));
}

TEST(Bootstrap, InformsWhenAskedTo) {
    const Trial trial = start(1, 2, [](Cluster& cluster) {
        for (Rank rank = 0; rank < 2; ++rank) cluster.set_env(rank, "NCCL_DEBUG", "INFO");
    });
    EXPECT_TRUE(trial.says(0, "NCCL version 2.28.9+cuda13.0"));
    EXPECT_FALSE(trial.says(1, "NCCL version"));
    EXPECT_TRUE(trial.says(1, "NCCL INFO Bootstrap: Using eth0:"));
}

TEST(NcclSettings, NumbersAreReadAsNcclReadsThem) {
    EXPECT_EQ(lax_integer("abc"), 0);
    EXPECT_EQ(lax_integer("1O"), 1);
    EXPECT_EQ(lax_integer("0x10"), 16);
    EXPECT_EQ(nccl_version_code("2.28.9"), 22809);
}

}  // namespace
}  // namespace deadrank::sim
