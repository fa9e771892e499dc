// tests/sim/cluster_chaos_test.cpp — Hundreds of drawn jobs with drawn faults: each ends, and each is the
// same run twice. What one draw does is of no interest; that none of them breaks the cluster, or depends on
// the machine, is.
#include <gtest/gtest.h>

#include "sim/engine/rng.h"
#include "tests/sim/cluster_harness.h"

namespace deadrank::sim {
namespace {

using namespace std::chrono_literals;

class Draws {
public:
    explicit Draws(std::uint64_t seed) : chance_(Seed{seed}, {}, "chaos") {}
    std::int64_t below(std::int64_t bound) {
        return static_cast<std::int64_t>(chance_.below(n_++, static_cast<std::uint64_t>(bound)));
    }
    bool one_in(std::int64_t n) { return below(n) == 0; }

private:
    Chance chance_;
    std::uint64_t n_ = 0;
};

// Alters one call in forty, in a way that depends on the call alone.
class Disturber final : public Interceptor {
public:
    explicit Disturber(std::uint64_t seed) : draws_(seed) {}
    void before(Call& call) override {
        if (!draws_.one_in(40)) return;
        switch (draws_.below(12)) {
            case 0:
                call.skip = true;
                break;
            case 1:
                call.hold = true;
                break;
            case 2:
                call.delay = Time(draws_.below(5'000'000'000));
                break;
            case 3:
                call.count = draws_.below(64);
                break;
            case 4:
                call.dtype = results::Dtype::i32;
                break;
            case 5:
                call.op = results::Op::broadcast;
                break;
            case 6:
                call.answer = Code::system_error;
                break;
            case 7:
                call.flip_bit = draws_.below(256);
                break;
            case 8:
                call.never_completes = true;
                break;
            case 9:
                call.kill_signal = 9;
                break;
            case 10:
                call.stop = true;
                break;
            default:
                call.root = static_cast<std::int32_t>(draws_.below(9));
                break;
        }
    }

private:
    Draws draws_;
};

void job(World& world) {
    const std::string endpoint = *world.env().get("MASTER_ADDR") + ":" + *world.env().get("MASTER_PORT");
    Store& store = world.rendezvous(endpoint, world.process() == 0, 20s);
    if (store.add("joined", 1) == world.processes()) store.set("all", "1");
    if (!store.wait("all", 20s)) throw RankFailure("DistStoreError: not all came");
    const auto comm = everybody(world);
    const Rank base = world.process() / 2 * 2;
    const auto pair = world.communicator({"tp", {base, base + 1}, world.process()});
    const Rank next = (comm->rank() + 1) % comm->size(),
               last = (comm->rank() + comm->size() - 1) % comm->size();
    std::vector<Number> data(8, world.process()), other(8), part(2),
        all(8 * static_cast<std::size_t>(comm->size()));
    for (int step = 0; step < 4; ++step) {
        world.step(step);
        world.phase(results::Phase::forward);
        world.device().compute(20ms);
        const auto work = comm->all_reduce_async(data);
        pair->all_gather(std::span<const Number>(other).subspan(0, 4), other);
        work->wait();
        comm->group_start();
        comm->send(data, next);
        comm->recv(other, last);
        comm->group_end();
        pair->reduce_scatter(std::span<const Number>(data).subspan(0, 4), part);
        comm->all_gather(data, all);
        world.phase(results::Phase::checkpoint);
        const std::string path = "step" + std::to_string(step) + "/" + std::to_string(world.process());
        if (world.block("save")) world.storage().write(path, data);
        std::vector<Number> back;
        world.storage().read(path, back);
        data.assign(8, world.seam("value", back.empty() ? 1 : back[0] % 1000));
        comm->barrier();
    }
}

void disturb(Cluster& cluster, Draws& draws) {
    const auto rank = [&] { return static_cast<Rank>(draws.below(cluster.processes())); };
    for (int i = 0; i < 3; ++i) {
        const Time when{draws.below(400'000'000)};
        const Rank victim = rank();
        const std::int64_t kind = draws.below(9), amount = draws.below(1000);
        cluster.at(when, [&cluster, victim, kind, amount] {
            LinkChange link;
            link.from = static_cast<int>(amount % 3) - 1;
            StorageChange storage{"step", static_cast<StorageTrouble>(1 + amount % 10), amount};
            DeviceChange device;
            HostChange host;
            switch (kind) {
                case 0:
                    cluster.kill(victim, amount % 2 ? 9 : 15);
                    break;
                case 1:
                    cluster.stop(victim);
                    break;
                case 2:
                    cluster.exit(victim, 1, "RuntimeError: planted");
                    break;
                case 3:
                    link.down = true;
                    link.reset = amount % 2;
                    cluster.change_link(link);
                    break;
                case 4:
                    link.bandwidth_permille = 1 + amount;
                    link.loss_ppb = amount * 1'000'000;
                    cluster.change_link(link);
                    break;
                case 5:
                    cluster.change_storage(storage);
                    break;
                case 6:
                    device.off_bus = true;
                    cluster.change_device(victim, device);
                    break;
                case 7:
                    host.down = true;
                    cluster.change_host(cluster.node_of(victim), host);
                    break;
                default:
                    cluster.preempt("preempted");
                    break;
            }
        });
        if (draws.one_in(2)) cluster.at(when + 3s, [&cluster, victim] { cluster.resume(victim); });
        if (draws.one_in(2)) {
            cluster.at(when + 2s, [&cluster] {
                LinkChange healed;
                healed.down = false;
                cluster.change_link(healed);
            });
        }
    }
}

RunResult run_one(std::uint64_t seed, bool explore) {
    Draws draws(seed);
    ClusterSettings settings;
    settings.gpus_per_node = 2 + 2 * static_cast<int>(draws.below(2));
    settings.launcher = static_cast<LauncherKind>(draws.below(3));
    settings.restarts_max = static_cast<int>(draws.below(2));
    settings.watchdog = !draws.one_in(4);
    settings.debug_detail = draws.one_in(5);
    settings.collective_timeout = 30s;
    Disturber disturber(seed);
    results::Evidence evidence;
    RunResult result;
    on_stage([&](Engine& engine) {
        ClusterOptions options;
        if (explore) options.explore_order = Seed{seed};
        options.step_limit = 10'000'000;
        Cluster cluster(engine, settings, Seed{seed}, evidence, options);
        cluster.intercept(&disturber);
        for (Rank rank = 0; rank < cluster.processes(); ++rank) cluster.arm(rank, draws.one_in(3));
        disturb(cluster, draws);
        result = cluster.run(job);
    });
    return result;
}

TEST(ClusterChaos, EveryDrawnJobEndsAndIsTheSameTwice) {
    int completed = 0, stuck = 0;
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
        const RunResult one = run_one(seed, false), other = run_one(seed, false);
        ASSERT_EQ(one.hash, other.hash) << "seed " << seed;
        ASSERT_TRUE(one.ending == Ending::completed || one.ending == Ending::deadlock) << "seed " << seed;
        completed += one.ending == Ending::completed;
        stuck += one.ending == Ending::deadlock;
        ASSERT_EQ(one.waits_for.empty(), one.ending == Ending::completed) << "seed " << seed;
    }
    EXPECT_GT(completed, 50);
    EXPECT_GT(stuck, 20);
}

TEST(ClusterChaos, EveryOrderOfTiesIsSurvived) {
    for (std::uint64_t seed = 1; seed <= 150; ++seed) {
        const RunResult result = run_one(seed, true);
        ASSERT_TRUE(result.ending == Ending::completed || result.ending == Ending::deadlock)
            << "seed " << seed;
    }
}

}  // namespace
}  // namespace deadrank::sim
