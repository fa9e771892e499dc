// tests/sim/fabric_kinds_test.cpp — Clusters whose network is not the usual one: without RDMA, without
// GPUDirect, with interfaces and cards that differ from node to node.
#include <gmock/gmock.h>

#include "tests/sim/cluster_harness.h"

namespace deadrank::sim {
namespace {

using namespace std::chrono_literals;
using results::DirectAccess;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

void one_sum(World& world) {
    sum(world);
    world.step(0);
}

double took(const Trial& trial, Rank rank = 0) {
    return static_cast<double>((trial.times<results::CollectiveLeave>(rank).back() -
                                trial.times<results::CollectiveEnter>(rank).back())
                                   .count());
}

std::string transport(const Trial& trial, Rank rank) {
    const auto left = trial.of<results::CommInitLeave>(rank);
    return left.empty() ? "" : std::string(trial.evidence.text(left.back().transport));
}

std::string failure_of(const Trial& trial, Rank rank) {
    const auto errors = trial.of<results::CommError>(rank);
    return errors.empty() ? "" : std::string(trial.evidence.text(errors.front().message));
}

bool all_finish(const Trial& trial) {
    return std::all_of(trial.result.ends.begin(), trial.result.ends.end(),
                       [](ProcessEnd end) { return end == ProcessEnd::finished; });
}

ClusterSettings with(ClusterSettings settings, const std::string& name, const std::string& value) {
    settings.environment[name] = value;
    return settings;
}

TEST(WithoutRdma, SocketsCarryTheWholeLinkAndNoPortIsShown) {
    ClusterSettings settings = bare(2, 1);
    settings.rdma = false;
    const Trial trial = play(settings, one_sum);
    EXPECT_EQ(transport(trial, 0), "NET/Socket over eth0");
    EXPECT_NEAR(took(trial), took(play(bare(2, 1), one_sum)), 1e3);
    const auto sample = trial.of<results::LinkSample>(results::no_rank).at(0);
    EXPECT_EQ(trial.evidence.text(sample.link), "node0 eth0");
    EXPECT_NEAR(took(play(with(settings, "NCCL_IB_DISABLE", "1"), one_sum)), took(trial), 1e3);
}

TEST(WithoutRdma, InfiniBandOnPurposeFindsNoNetwork) {
    ClusterSettings settings = with(bare(2, 1), "NCCL_NET", "IB");
    settings.rdma = false;
    EXPECT_EQ(failure_of(play(settings, one_sum), 0), "Failed to initialize any NET plugin");
}

TEST(Interfaces, AFilterThatLeavesNoneFailsOnOneNodeToo) {
    for (const char* filter : {"ib", "^eth,lo"}) {
        const Trial trial = play(with(bare(1, 2), "NCCL_SOCKET_IFNAME", filter), one_sum);
        EXPECT_THAT(trial.result.ends, Each(ProcessEnd::failed)) << filter;
        EXPECT_EQ(failure_of(trial, 0), "Bootstrap : no socket interface found") << filter;
    }
    EXPECT_TRUE(all_finish(play(with(bare(1, 2), "NCCL_SOCKET_IFNAME", "^eth0"), one_sum)))
        << "the loopback is an interface as well";
}

TEST(Interfaces, AMachineMayHaveNoneAtAll) {
    ClusterSettings settings = bare(1, 2);
    settings.interfaces = {"none"};
    EXPECT_EQ(failure_of(play(settings, one_sum), 1), "Bootstrap : no socket interface found");
    settings.interfaces = {"lo"};
    EXPECT_TRUE(all_finish(play(settings, one_sum)));
}

TEST(Interfaces, MayDifferFromNodeToNode) {
    ClusterSettings settings = bare(2, 1);
    settings.node_interfaces["node1"] = {"ens5", "docker0"};
    EXPECT_TRUE(all_finish(play(settings, one_sum)));
    const Trial named = play(with(settings, "NCCL_SOCKET_IFNAME", "eth0"), one_sum);
    EXPECT_EQ(failure_of(named, 0), "");
    EXPECT_EQ(failure_of(named, 1), "Bootstrap : no socket interface found");
    EXPECT_TRUE(all_finish(play(with(settings, "NCCL_SOCKET_IFNAME", "eth0,ens5"), one_sum)));
}

TEST(Interfaces, OneMayBeGoneOrRenamedOnANode) {
    const ClusterSettings named = with(bare(2, 1), "NCCL_SOCKET_IFNAME", "eth0");
    const auto renamed = [](const std::string& to) {
        return [to](Cluster& cluster) { EXPECT_TRUE(cluster.rename_interface(1, "eth0", to)); };
    };
    EXPECT_EQ(failure_of(play(named, one_sum, renamed("")), 1), "Bootstrap : no socket interface found");
    EXPECT_EQ(failure_of(play(named, one_sum, renamed("ens5")), 1), "Bootstrap : no socket interface found");
    EXPECT_TRUE(all_finish(play(bare(2, 1), one_sum, renamed("ens5"))));
    EXPECT_THAT(play(bare(2, 1), one_sum, renamed("")).result.ends, Each(ProcessEnd::stuck))
        << "only the loopback is left, which no other node reaches";
    play(bare(2, 1), one_sum, [](Cluster& cluster) { EXPECT_FALSE(cluster.rename_interface(1, "ib7", "")); });
}

TEST(Interfaces, SocketsOverASlowOneAreSlow) {
    ClusterSettings settings = bare(2, 1);
    settings.rdma = false;
    const auto management = [](Cluster& cluster) {
        cluster.add_interface(1, {"eno1", true, 1'000'000'000}, true);
    };
    const double usual = took(play(settings, one_sum));
    EXPECT_NEAR(took(play(settings, one_sum, management)) / usual, 100, 10);
    EXPECT_NEAR(took(play(with(settings, "NCCL_SOCKET_IFNAME", "eth0"), one_sum, management)), usual, 1e3);
}

TEST(Gloo, TakesOneInterfaceByItsWholeName) {
    ClusterSettings settings = bare(2, 1);
    settings.library = LibraryKind::gloo;
    EXPECT_TRUE(all_finish(play(with(settings, "GLOO_SOCKET_IFNAME", "eth0"), one_sum)));
    const Trial listed = play(with(settings, "GLOO_SOCKET_IFNAME", "^lo,docker"), one_sum);
    EXPECT_TRUE(listed.says(0, "Unable to find address for: ^lo,docker"));
    EXPECT_FALSE(listed.says(0, "NCCL"));
    EXPECT_TRUE(all_finish(play(with(settings, "NCCL_SOCKET_IFNAME", "nosuch0"), one_sum)));
}

TEST(GpuDirect, CopiesThroughTheHostHalveTheBandwidth) {
    ClusterSettings without = bare(2, 1);
    without.gpudirect = false;
    const double usual = took(play(bare(2, 1), one_sum));
    const Trial copied = play(without, one_sum);
    EXPECT_NEAR(took(copied) / usual, 2, 0.1);
    EXPECT_EQ(transport(copied, 0), "NET/IB copied through host memory");
    const Trial asked = play(with(bare(2, 1), "NCCL_NET_GDR_LEVEL", "LOC"), one_sum);
    EXPECT_NEAR(took(asked), took(copied), 1e3);
    EXPECT_EQ(transport(asked, 1), "NET/IB copied through host memory for NCCL_NET_GDR_LEVEL");
    EXPECT_EQ(transport(play(with(bare(2, 1), "NCCL_NET_GDR_LEVEL", "SYS"), one_sum), 1), "NET/IB");
}

TEST(GpuDirect, OneNodeWithoutItSlowsItsOwnTransfersAlone) {
    HostChange copies;
    copies.direct = DirectAccess::copied;
    const auto one_after_the_other = [](World& world) {
        const auto comm = everybody(world);
        std::vector<Number> data(summed_numbers, 1);
        for (const Rank to : {1, 2}) {
            comm->barrier();
            if (world.process() == 0) comm->send(data, to);
            if (world.process() == to) comm->recv(data, 0);
        }
    };
    const Trial trial =
        play(bare(3, 1), one_after_the_other, [&](Cluster& cluster) { cluster.change_host(2, copies); });
    const auto received = [&](Rank rank) {
        return static_cast<double>(
            (trial.times<results::P2pLeave>(rank).at(0) - trial.times<results::P2pEnter>(rank).at(0))
                .count());
    };
    EXPECT_NEAR(received(2) / received(1), 2, 0.2);
    EXPECT_EQ(transport(trial, 1), "NET/IB");
    EXPECT_EQ(transport(trial, 2), "NET/IB copied through host memory");
}

TEST(GpuDirect, CardsThatAreTurnedAwayFailAtTheFirstTransfer) {
    ClusterSettings settings = bare(2, 1);
    settings.watchdog = true;
    HostChange blocks;
    blocks.direct = DirectAccess::blocked;
    const auto block = [&](Cluster& cluster) { cluster.change_host(1, blocks); };
    const Trial trial = play(settings, one_sum, block);
    EXPECT_EQ(trial.of<results::CommInitLeave>(1).at(0).result, Code::ok);
    EXPECT_TRUE(trial.says(1, "IBV_WC_LOC_PROT_ERR(4)"));
    EXPECT_TRUE(trial.says(0, "peer node1<4791> with status=IBV_WC_REM_ACCESS_ERR(10)"));
    EXPECT_TRUE(all_finish(play(with(settings, "NCCL_NET_GDR_LEVEL", "0"), one_sum, block)))
        << "copies through the host need no access";
    EXPECT_TRUE(all_finish(play(
        bare(2, 1), [](World& world) { everybody(world); }, block)));
}

TEST(GpuDirect, AMessageToSuchACardFailsAsWell) {
    ClusterSettings settings = bare(2, 1);
    settings.watchdog = true;
    HostChange blocks;
    blocks.direct = DirectAccess::blocked;
    const Trial trial = play(
        settings,
        [](World& world) {
            const auto comm = everybody(world);
            Number data[] = {1};
            if (world.process() == 0) comm->send(data, 1);
            if (world.process() == 1) comm->recv(data, 0);
        },
        [&](Cluster& cluster) { cluster.change_host(1, blocks); });
    EXPECT_TRUE(trial.says(0, "IBV_WC_REM_ACCESS_ERR(10)"));
}

TEST(Firewall, LetsRanksMeetAtTheStoreAndNotConnect) {
    HostChange closed;
    closed.firewall = results::Firewall::rejects;
    const auto close = [&](Cluster& cluster) { cluster.change_host(1, closed); };
    const Trial rejected = play(bare(2, 1), one_sum, close);
    EXPECT_THAT(failure_of(rejected, 0), HasSubstr("connect to node1<41743> returned No route to host"));
    EXPECT_GT(rejected.times<results::CommInitLeave>(0).at(0), 59s);
    ClusterSettings gloo = bare(2, 1);
    gloo.library = LibraryKind::gloo;
    EXPECT_TRUE(play(gloo, one_sum, close).says(0, "connectFullMesh failed"));
    EXPECT_TRUE(
        all_finish(play(bare(1, 2), one_sum, [&](Cluster& cluster) { cluster.change_host(0, closed); })));
    closed.firewall = results::Firewall::drops;
    EXPECT_THAT(play(bare(2, 1), one_sum, close).result.ends, Each(ProcessEnd::stuck));
}

TEST(Roce, AGidThatLeadsNowhereFailsTheStart) {
    ClusterSettings roce = bare(2, 1);
    roce.gid_index = 3;
    EXPECT_TRUE(all_finish(play(roce, one_sum)));
    EXPECT_TRUE(all_finish(play(with(roce, "NCCL_IB_GID_INDEX", "3"), one_sum)));
    EXPECT_THAT(failure_of(play(with(roce, "NCCL_IB_GID_INDEX", "0"), one_sum), 1),
                HasSubstr("ibv_modify_qp"));
    EXPECT_TRUE(all_finish(play(with(bare(2, 1), "NCCL_IB_GID_INDEX", "0"), one_sum)))
        << "InfiniBand asks for none";
}

TEST(LockedMemory, IsNeededForRdmaAlone) {
    HostChange little;
    little.locked_memory_limit = 64 << 10;
    const auto limit = [&](Cluster& cluster) { cluster.change_host(1, little); };
    EXPECT_THAT(failure_of(play(bare(2, 1), one_sum, limit), 1), HasSubstr("Cannot allocate memory"));
    EXPECT_TRUE(all_finish(play(with(bare(2, 1), "NCCL_IB_DISABLE", "1"), one_sum, limit)));
}

TEST(PeerAccess, ThatDoesNotWorkHangsTheFirstTransferWithinANode) {
    HostChange sticks;
    sticks.peers_stuck = true;
    const auto stick = [&](Cluster& cluster) { cluster.change_host(0, sticks); };
    const Trial trial = play(bare(1, 2), one_sum, stick);
    EXPECT_EQ(transport(trial, 0), "NVLink");
    EXPECT_THAT(trial.result.ends, Each(ProcessEnd::stuck));
    EXPECT_TRUE(trial.lines(0).empty()) << "nobody is told";
    EXPECT_THAT(play(bare(2, 2), one_sum, stick).result.ends, Each(ProcessEnd::stuck));
    EXPECT_TRUE(all_finish(play(bare(2, 1), one_sum, stick))) << "nothing goes between devices of that node";
    const Trial shared = play(with(bare(1, 2), "NCCL_P2P_DISABLE", "1"), one_sum, stick);
    EXPECT_TRUE(all_finish(shared));
    EXPECT_EQ(transport(shared, 1), "SHM");
    EXPECT_GT(took(shared), 5 * took(play(bare(1, 2), one_sum)));
}

// Two nodes of two: each pair of ranks across them reduces at the same time.
void two_rings(World& world) {
    const auto all = everybody(world);
    const Rank first = world.process() % 2;
    const auto comm = world.communicator({first == 0 ? "even" : "odd", {first, first + 2}, world.process()});
    all->barrier();
    std::vector<Number> data(summed_numbers, 1);
    comm->all_reduce(data);
}

TEST(Cards, DevicesShareThoseThatTheirNodeHas) {
    ClusterSettings two = bare(2, 2);
    two.nics = 2;
    const double apart = took(play(two, two_rings));
    EXPECT_NEAR(took(play(bare(2, 2), two_rings)) / apart, 2, 0.1);
    EXPECT_NEAR(took(play(with(two, "NCCL_IB_HCA", "=mlx5_1:1"), two_rings)) / apart, 2, 0.1);
    EXPECT_NEAR(took(play(with(two, "NCCL_IB_HCA", "mlx5_0,mlx5_1"), two_rings)) / apart, 1, 0.01);
}

TEST(Cards, AFilterThatLeavesNoneMeansSockets) {
    EXPECT_EQ(transport(play(with(bare(2, 1), "NCCL_IB_HCA", "mlx5_3"), one_sum), 0), "NET/Socket over eth0");
    EXPECT_EQ(transport(play(with(bare(2, 1), "NCCL_IB_HCA", "^mlx5_0"), one_sum), 0),
              "NET/Socket over eth0");
    EXPECT_EQ(transport(play(with(bare(2, 1), "NCCL_IB_HCA", "mlx5"), one_sum), 0), "NET/IB");
}

}  // namespace
}  // namespace deadrank::sim
