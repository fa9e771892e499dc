// tests/sim/health_check_test.cpp — Goal: a node check finds what a machine shows of a defect, and a spare
// node is without it; a restart alone meets the defect again.
#include "sim/machine/health_check.h"

#include <gmock/gmock.h>

#include "sim/machine/device.h"
#include "tests/sim/cluster_harness.h"

namespace deadrank::sim {
namespace {

using namespace std::chrono_literals;
using results::no_rank;
using testing::Each;
using testing::HasSubstr;

ClusterSettings checked(int nodes, int spares) {
    ClusterSettings settings = bare(nodes, 2);
    settings.launcher = LauncherKind::torchrun;
    settings.restarts_max = 2;
    settings.spare_nodes = spares;
    settings.health_check = 1s;
    return settings;
}

void compute_long(World& world) {
    for (int step = 0; step < 100; ++step) world.device().compute(100ms);
}

Setup change_device_of(Rank rank, const DeviceChange& change) {
    return
        [=](Cluster& cluster) { cluster.at(2500ms, [=, &cluster] { cluster.change_device(rank, change); }); };
}

std::size_t restarts(const Trial& trial) { return trial.of<results::Restart>(no_rank).size(); }
int code(const Trial& trial) { return trial.of<results::JobStop>(no_rank).at(0).code; }

DeviceChange lost_device() {
    DeviceChange change;
    change.off_bus = true;
    change.xid = 79;
    return change;
}

TEST(HealthCheck, ReplacesTheNodeOfALostDeviceWhereARestartAloneMeetsItAgain) {
    const Trial trial = play(checked(2, 1), compute_long, change_device_of(3, lost_device()));
    EXPECT_EQ(restarts(trial), 1u);
    EXPECT_EQ(code(trial), 0);
    EXPECT_TRUE(trial.says(no_rank, "node1 fails its health check (GPU 1: is not on the bus), a spare node"));

    ClusterSettings unchecked = checked(2, 1);
    unchecked.health_check = Time{0};
    const Trial again = play(unchecked, compute_long, change_device_of(3, lost_device()));
    EXPECT_EQ(restarts(again), 2u);
    EXPECT_EQ(code(again), 1);
    EXPECT_NE(code(play(checked(2, 0), compute_long, change_device_of(3, lost_device()))), 0) << "no spare";
}

TEST(HealthCheck, StopsAJobThatWouldGoOnOnASickNode) {
    DeviceChange hot;
    hot.throttle = throttled_by_heat;
    hot.slow_permille = 3000;
    const Trial trial = play(checked(2, 1), compute_long, change_device_of(0, hot));
    EXPECT_THAT(trial.of<results::Restart>(no_rank).size(), 1u);
    EXPECT_EQ(trial.times<results::RankExit>(0).at(0), 3s) << "at the first look after it got hot";
    EXPECT_EQ(code(trial), 0);
}

TEST(HealthCheck, LetsAJobGoOnWhereNoSpareIsLeft) {
    DeviceChange hot;
    hot.throttle = throttled_by_heat;
    const Trial trial = play(checked(2, 0), compute_long, change_device_of(0, hot));
    EXPECT_EQ(restarts(trial), 0u);
    EXPECT_EQ(code(trial), 0);
}

TEST(HealthCheck, PassesWhatIsNoDefectOfTheMachine) {
    DeviceChange capped;
    capped.throttle = throttled_by_power;
    DeviceChange fault_of_the_program;
    fault_of_the_program.xid = 31;
    for (const DeviceChange& change : {capped, fault_of_the_program})
        EXPECT_EQ(restarts(play(checked(2, 1), compute_long, change_device_of(0, change))), 0u);
}

TEST(HealthCheck, FindsANodeThatDoesNotAnswerAtItsNextLook) {
    const Trial trial = play(checked(2, 1), compute_long, [](Cluster& cluster) {
        cluster.at(2500ms, [&cluster] { cluster.change_host(1, {.down = true}); });
    });
    EXPECT_EQ(restarts(trial), 1u);
    EXPECT_EQ(trial.times<results::RankExit>(0).at(0), 3s);
    EXPECT_THAT(trial.result.ends, Each(ProcessEnd::finished));
}

Setup port_down(std::vector<Time> when, Time lasts) {
    return [=](Cluster& cluster) {
        for (const Time at : when) {
            for (const bool down : {true, false}) {
                cluster.at(down ? at : at + lasts, [=, &cluster] {
                    LinkChange change;
                    change.from = 1;
                    change.down = down;
                    cluster.change_link(change);
                });
            }
        }
    };
}

TEST(HealthCheck, ToleratesThatAPortGoesDownOnceAndNotTwice) {
    EXPECT_EQ(restarts(play(checked(3, 1), compute_long, port_down({1500ms}, 1s))), 0u);
    const Trial twice = play(checked(3, 1), compute_long, port_down({1500ms, 3500ms}, 200ms));
    EXPECT_EQ(restarts(twice), 1u);
    EXPECT_TRUE(twice.says(no_rank, "node1 fails its health check (its port went down 2 times)"));
}

TEST(HealthCheck, HoldsADeadPortAgainstItsNodeAloneOnceTheJobHasEnded) {
    const Trial trial = play(
        checked(2, 1),
        [](World& world) {
            world.timer().sleep(3s);
            if (world.attempt() == 0) throw RankFailure("RuntimeError: connection lost");
        },
        port_down({1500ms}, 1h));
    EXPECT_TRUE(trial.says(no_rank, "node1 fails its health check (its port is down)"));
    EXPECT_FALSE(trial.says(no_rank, "node0 fails"));
    EXPECT_EQ(code(trial), 0);
}

// An interceptor that breaks one call of a rank, and remembers which nodes were replaced.
class Breaking final : public Interceptor {
public:
    Breaking(CallKind kind, std::function<void(Call&)> alter) : kind_(kind), alter_(std::move(alter)) {}
    void before(Call& call) override {
        if (call.kind == kind_ && replaced_.empty()) alter_(call);
    }
    void replaced(int node) override { replaced_.push_back(node); }

    std::vector<int> replaced_;

private:
    CallKind kind_;
    std::function<void(Call&)> alter_;
};

TEST(HealthCheck, FindsTheDeviceThatStillHoldsAKernel) {
    Breaking breaking(CallKind::collective, [](Call& call) { call.never_completes = true; });
    ClusterSettings settings = checked(2, 1);
    settings.watchdog = true;
    settings.collective_timeout = 10s;
    const Trial trial = play(
        settings,
        [](World& world) {
            const auto comm = everybody(world);
            Number data[] = {1};
            comm->all_reduce(data);
        },
        altering(breaking, 2));
    EXPECT_THAT(breaking.replaced_, testing::ElementsAre(1));
    EXPECT_TRUE(trial.says(no_rank, "GPU 0: a kernel of a process that is gone still runs"));
    EXPECT_EQ(code(trial), 0);
}

TEST(HealthCheck, FindsADiskThatAnswersErrorsAndGivesTheSpareAnEmptyOne) {
    Breaking breaking(CallKind::storage_write, [](Call& call) { call.answer = results::Code::system_error; });
    std::vector<std::string> found;
    const Trial trial = play(
        checked(2, 1),
        [&](World& world) {
            if (world.attempt() > 0) {
                if (world.process() == 0) found = world.storage().list("");
                return;
            }
            const Number content[] = {1};
            const auto path = "node" + std::to_string(world.node()) + "/file";
            const bool written = world.storage().write(path, content) == results::Code::ok;
            world.timer().sleep(500ms);
            if (!written) throw RankFailure("OSError: [Errno 5] Input/output error");
        },
        altering(breaking, 3));
    EXPECT_TRUE(trial.says(no_rank, "node1 fails its health check (its disk answers I/O errors)"));
    EXPECT_THAT(found, testing::ElementsAre("node0/file"));
    EXPECT_EQ(code(trial), 0);
}

}  // namespace
}  // namespace deadrank::sim
