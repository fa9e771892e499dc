// tests/sim/device_test.cpp — Devices and hosts: time, memory, loss, kernel log, clocks, and how processes
// find their device.
#include "sim/machine/device.h"

#include <gmock/gmock.h>

#include "tests/sim/cluster_harness.h"

namespace deadrank::sim {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::int64_t gib = std::int64_t{1} << 30;

Setup with_device(Rank rank, const DeviceChange& change) {
    return [=](Cluster& cluster) { cluster.change_device(rank, change); };
}

Setup with_host(int node, const HostChange& change) {
    return [=](Cluster& cluster) { cluster.change_host(node, change); };
}

TEST(Device, TakesLongerWhenSlow) {
    DeviceChange slow;
    slow.slow_permille = 2500;
    const Trial trial = play(
        bare(1, 2), [](World& world) { world.device().compute(100ms); }, with_device(1, slow));
    EXPECT_EQ(trial.times<results::RankExit>(0).at(0), 100ms);
    EXPECT_EQ(trial.times<results::RankExit>(1).at(0), 250ms);
}

TEST(Device, RunsOutOfMemoryInTorchsWords) {
    DeviceChange small;
    small.memory_limit = 8 * gib;
    const Trial trial = play(
        bare(1, 1),
        [](World& world) {
            const auto first = world.device().allocate(6 * gib);
            world.device().release(first);
            world.device().allocate(6 * gib);
            world.device().allocate(3 * gib);
        },
        with_device(0, small));
    EXPECT_TRUE(trial.says(
        0,
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.00 GiB. GPU 0 has a total "
        "capacity of 8.00 GiB of which 2.00 GiB is free."));
    EXPECT_EQ(trial.of<results::MemoryOom>(0).at(0).available, 2 * gib);
    EXPECT_EQ(trial.result.ends.at(0), ProcessEnd::failed);
}

TEST(Device, LeaksUntilItIsFull) {
    DeviceChange leak;
    leak.memory_limit = gib;
    leak.leak_per_step = gib / 4;
    const Trial trial = play(
        bare(1, 1),
        [](World& world) {
            for (int step = 0; step < 10; ++step) world.step(step);
        },
        with_device(0, leak));
    EXPECT_EQ(trial.of<results::StepBegin>(0).size(), 5u);
    EXPECT_EQ(trial.of<results::MemorySample>(0).at(2).used, 3 * gib / 4);
}

TEST(Device, ThatFellOffTheBusFailsAndIsInTheKernelLog) {
    DeviceChange gone;
    gone.off_bus = true;
    const Trial trial = play(
        bare(1, 2),
        [](World& world) {
            for (int i = 0; i < 9; ++i) world.device().compute(100ms);
        },
        [=](Cluster& cluster) { cluster.at(250ms, [&cluster, gone] { cluster.change_device(1, gone); }); });
    EXPECT_TRUE(trial.says(1, "CUDA error: unspecified launch failure"));
    const auto errors = trial.of<results::DeviceError>(results::no_rank);
    ASSERT_EQ(errors.size(), 1u);
    EXPECT_EQ(errors[0].xid, 79);
    EXPECT_EQ(
        trial.evidence.text(errors[0].message),
        "node0 kernel: NVRM: Xid (PCI:0000:2b:00): 79, pid=1001, name=python, GPU has fallen off the bus.");
}

TEST(Device, ThrottlingShowsInItsSamples) {
    DeviceChange hot;
    hot.throttle = 1;
    hot.slow_permille = 2000;
    const Trial trial = play(
        bare(1, 2), [](World& world) { world.step(0); }, with_device(1, hot));
    EXPECT_EQ(trial.of<results::DeviceSample>(0).at(0).clock_mhz, 1980);
    EXPECT_EQ(trial.of<results::DeviceSample>(1).at(0).clock_mhz, 990);
    EXPECT_EQ(trial.of<results::DeviceSample>(1).at(0).throttle, 1);
}

TEST(Device, IsFoundByTheEnvironment) {
    const auto device_of = [](const std::vector<std::pair<std::string, std::string>>& environment) {
        int device = -1;
        const Trial trial = play(
            bare(1, 4),
            [&](World& world) {
                if (world.process() == 2) device = world.device().index();
            },
            [&](Cluster& cluster) {
                for (const auto& [name, value] : environment) cluster.set_env(2, name, value);
            });
        return trial.result.ends[2] == ProcessEnd::failed ? -1 : device;
    };
    EXPECT_EQ(device_of({}), 2);
    EXPECT_EQ(device_of({{"LOCAL_RANK", "0"}}), 0);
    EXPECT_EQ(device_of({{"CUDA_VISIBLE_DEVICES", "3,2,1,0"}}), 1);
    EXPECT_EQ(device_of({{"CUDA_VISIBLE_DEVICES", "0,1"}}), -1) << "invalid device ordinal";
    EXPECT_EQ(device_of({{"CUDA_VISIBLE_DEVICES", ""}}), -1) << "no devices";
    EXPECT_EQ(device_of({{"LOCAL_RANK", "9"}}), -1);
}

TEST(Host, KillsWhoRunsItOutOfMemoryAndRefusesPinnedMemory) {
    HostChange small;
    small.host_memory_limit = gib;
    const Trial killed = play(
        bare(1, 1), [](World& world) { world.device().allocate_host(2 * gib); }, with_host(0, small));
    EXPECT_EQ(killed.of<results::RankExit>(0).at(0).signal, 9);
    EXPECT_TRUE(killed.says(results::no_rank, "Out of memory: Killed process 1000 (python)"));
    const Trial refused = play(
        bare(1, 1), [](World& world) { world.device().allocate_host(2 * gib, true); }, with_host(0, small));
    EXPECT_EQ(refused.of<results::RankExit>(0).at(0).code, 1);
}

TEST(Host, ThatIsLostTakesItsRanksWithoutAnExit) {
    HostChange down;
    down.down = true;
    const Trial trial = play(
        bare(2, 1),
        [](World& world) {
            world.timer().sleep(1s);
            everybody(world);
        },
        [=](Cluster& cluster) { cluster.at(500ms, [&cluster, down] { cluster.change_host(1, down); }); });
    EXPECT_TRUE(trial.of<results::RankExit>(1).empty());
    EXPECT_THAT(trial.result.ends, ElementsAre(ProcessEnd::stuck, ProcessEnd::killed));
    EXPECT_THAT(trial.result.waits_for.at(0), HasSubstr("for rank 1, which was lost with its node"));
}

TEST(Host, ClocksAreOffDriftAndJump) {
    ClusterSettings settings = bare(2, 1);
    settings.clock_offset = 50ms;
    std::vector<Time> before(2), after(2);
    play(
        settings,
        [&](World& world) {
            const auto me = static_cast<std::size_t>(world.process());
            before[me] = world.timer().now();
            world.timer().sleep(10s);
            after[me] = world.timer().now();
        },
        [](Cluster& cluster) {
            HostChange change;
            change.clock_drift_ppb = 1'000'000;
            change.clock_step = -1s;
            cluster.at(5s, [&cluster, change] { cluster.change_host(1, change); });
        });
    EXPECT_NE(before[0], before[1]);
    EXPECT_LE(before[0], 50ms);
    EXPECT_EQ(after[0] - before[0], 10s);
    EXPECT_EQ(after[1] - before[1], 10s - 1s + 5ms);
}

TEST(MemoryText, IsTorchs) {
    EXPECT_EQ(memory_text(3 * gib / 2), "1.50 GiB");
    EXPECT_EQ(memory_text(20 << 20), "20.00 MiB");
    EXPECT_EQ(memory_text(512), "512 bytes");
}

TEST(Device, HoldsWhatANeighbourPutsThere) {
    DeviceChange small;
    small.memory_limit = 4 * gib;
    const Trial trial = play(
        bare(1, 2),
        [](World& world) {
            if (world.process() == 0) {
                world.timer().sleep(1s);
                world.device().allocate(3 * gib);
                return;
            }
            const auto handle = world.device().allocate_on(0, 2 * gib);
            world.timer().sleep(2s);
            world.device().release(handle);
        },
        with_device(0, small));
    EXPECT_EQ(trial.of<results::MemoryOom>(0).at(0).available, 2 * gib) << "the neighbour has the rest";
    EXPECT_EQ(trial.result.ends.at(1), ProcessEnd::finished);
}

TEST(Device, ShowsTheMostThatWasInUseSinceTheLastSample) {
    const Trial trial = play(bare(1, 1), [](World& world) {
        world.device().allocate(gib);
        for (int step = 0; step < 3; ++step) {
            world.step(step);
            if (step == 0) world.device().release(world.device().allocate(4 * gib));
        }
    });
    const auto samples = trial.of<results::MemorySample>(0);
    ASSERT_EQ(samples.size(), 3u);
    EXPECT_EQ(samples[0].used, gib);
    EXPECT_EQ(samples[1].used, 5 * gib) << "the peak of step 0";
    EXPECT_EQ(samples[2].used, gib) << "and it is over";
}

}  // namespace
}  // namespace deadrank::sim
