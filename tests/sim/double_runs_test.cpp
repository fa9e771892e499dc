// tests/sim/double_runs_test.cpp — Goal: ten thousand drawn small jobs, each played twice on one
// stage, are one run each. Chance decides their size, their steps and what befalls them.
#include <cstdlib>
#include <gtest/gtest.h>

#include "sim/engine/rng.h"
#include "tests/sim/cluster_harness.h"

namespace deadrank::sim {
namespace {

using namespace std::chrono_literals;

struct Drawn {
    ClusterSettings settings;
    int steps = 1;
    Rank victim = 0;
    Time when{0};
    std::uint64_t action = 0;
};

Drawn draw_job(std::uint64_t seed) {
    const Chance chance(Seed{seed}, {}, "double runs");
    Drawn drawn;
    drawn.settings = bare(1 + static_cast<int>(chance.below(0, 2)), 2 + static_cast<int>(chance.below(1, 3)));
    drawn.settings.watchdog = chance.ratio(2, 1, 2);
    drawn.settings.collective_timeout = 30s;
    drawn.steps = 1 + static_cast<int>(chance.below(3, 3));
    drawn.victim =
        static_cast<Rank>(chance.below(4, static_cast<std::uint64_t>(drawn.settings.process_count())));
    drawn.when = Time(static_cast<std::int64_t>(chance.below(5, 100'000'000)));
    drawn.action = chance.below(6, 4);
    return drawn;
}

void script(World& world, int steps) {
    const auto comm = everybody(world);
    std::vector<Number> data(4, world.process());
    const Rank next = (comm->rank() + 1) % comm->size();
    const Rank last = (comm->rank() + comm->size() - 1) % comm->size();
    for (int step = 0; step < steps; ++step) {
        world.step(step);
        world.device().compute(Time(static_cast<std::int64_t>(world.chance("compute", 0, 20'000'000))));
        comm->all_reduce(data);
        comm->group_start();
        comm->send(data, next);
        comm->recv(data, last);
        comm->group_end();
    }
}

void befall(Cluster& cluster, const Drawn& drawn) {
    cluster.at(drawn.when, [&cluster, drawn] {
        LinkChange lossy;
        lossy.loss_ppb = 50'000'000;
        switch (drawn.action) {
            case 0:
                cluster.kill(drawn.victim, 9);
                break;
            case 1:
                cluster.stop(drawn.victim);
                break;
            case 2:
                cluster.change_link(lossy);
                break;
            default:
                break;
        }
    });
}

std::uint64_t hash_of(Engine& engine, std::uint64_t seed, bool explore) {
    const Drawn drawn = draw_job(seed);
    results::Evidence evidence;
    ClusterOptions options;
    if (explore) options.explore_order = Seed{seed};
    Cluster cluster(engine, drawn.settings, Seed{seed}, evidence, options);
    befall(cluster, drawn);
    return cluster.run([&](World& world) { script(world, drawn.steps); }).hash;
}

void expect_equal_pairs(std::uint64_t seeds) {
    on_stage([&](Engine& engine) {
        std::uint64_t mismatches = 0, explored = 0;
        for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
            const bool explore = seed % 4 == 0;
            const std::uint64_t first = hash_of(engine, seed, explore);
            mismatches += first != hash_of(engine, seed, explore);
            explored += explore && first != hash_of(engine, seed, false);
        }
        EXPECT_EQ(mismatches, 0u);
        EXPECT_GT(explored, 0u) << "exploring changed nothing: then it compared nothing";
    });
}

TEST(DoubleRuns, HundredDrawnJobsAreOneRunEach) { expect_equal_pairs(100); }

// DEADRANK_DOUBLE_RUNS asks for more of them.
TEST(SlowDoubleRuns, TenThousandDrawnJobsAreOneRunEach) {
    const char* asked = std::getenv("DEADRANK_DOUBLE_RUNS");
    expect_equal_pairs(asked ? std::strtoull(asked, nullptr, 10) : 10'000);
}

}  // namespace
}  // namespace deadrank::sim
