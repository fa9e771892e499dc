// tests/bench/cluster_bench.cpp — Whole training jobs in the simulated cluster, per CPU second: small ones
// played twice and compared, steps of all-reduce at size, and what evidence, hashing and an armed fault cost.
#include <benchmark/benchmark.h>

#include "results/record/evidence.h"
#include "scenarios/model/error.h"
#include "sim/cluster/cluster.h"
#include "sim/engine/stage.h"
#include "sim/engine/trace_hash.h"
#include "sim/workloads/workload_catalog.h"
#include "tests/bench/measuring.h"

namespace {

using namespace deadrank::sim;
namespace results = deadrank::results;
namespace scenarios = deadrank::scenarios;

ClusterSettings cluster_of(Rank ranks) {
    ClusterSettings settings;
    settings.gpus_per_node = ranks < 8 ? static_cast<int>(ranks) : 8;
    settings.nodes = static_cast<int>(ranks) / settings.gpus_per_node;
    return settings;
}

// The settings of data_parallel as a scenario gets them, two steps long.
scenarios::Values training(std::int64_t steps) {
    scenarios::Values values;
    for (const scenarios::Parameter& parameter : find_workload("data_parallel")->words.parameters) {
        if (parameter.fallback.empty()) continue;
        const auto value = scenarios::parse_value(parameter.type, parameter.fallback);
        CHECK(value);
        values[parameter.name] = *value;
    }
    values["steps"].number = steps;
    return values;
}

// A fault that is aimed at every call of a rank and never finds its moment.
class Silent final : public Interceptor {
public:
    void before(Call& call) override { seen_ += call.step > 1'000'000; }

private:
    std::int64_t seen_ = 0;
};

struct Extras {
    bool evidence = true;
    bool armed = false;
};

std::uint64_t play(Engine& engine, const ClusterSettings& settings, const scenarios::Values& values,
                   std::uint64_t seed, const Extras& extras) {
    results::Evidence evidence;
    evidence.keep(extras.evidence);
    Cluster cluster(engine, settings, Seed{seed}, evidence);
    Silent silent;
    if (extras.armed) {
        cluster.intercept(&silent);
        for (Rank rank = 0; rank < cluster.processes(); ++rank) cluster.arm(rank);
    }
    return cluster.run(find_workload("data_parallel")->script(values)).hash;
}

// Two training steps from launch to end, each job twice, the hashes compared.
void jobs_played_twice(benchmark::State& state, const Extras& extras) {
    const ClusterSettings settings = cluster_of(static_cast<Rank>(state.range(0)));
    const scenarios::Values values = training(2);
    std::uint64_t seed = 0, mismatches = 0;
    on_stage([&](Engine& engine) {
        for (auto _ : state) {
            const double start = cpu_seconds();
            const std::uint64_t first = play(engine, settings, values, seed, extras);
            mismatches += first != play(engine, settings, values, seed, extras);
            ++seed;
            state.SetIterationTime(cpu_seconds() - start);
        }
    });
    if (mismatches > 0) state.SkipWithError("two runs of one seed differ");
    state.counters["pairs"] = benchmark::Counter(static_cast<double>(seed), benchmark::Counter::kIsRate);
}

void TrainingJobs(benchmark::State& state) { jobs_played_twice(state, {}); }
void TrainingJobsWithoutEvidence(benchmark::State& state) { jobs_played_twice(state, {.evidence = false}); }
void TrainingJobsWithAnArmedFault(benchmark::State& state) { jobs_played_twice(state, {.armed = true}); }
BENCHMARK(TrainingJobs)->ArgName("ranks")->Arg(8)->Arg(64)->Arg(1'024)->UseManualTime();
BENCHMARK(TrainingJobsWithoutEvidence)->ArgName("ranks")->Arg(8)->Arg(64)->Arg(1'024)->UseManualTime();
BENCHMARK(TrainingJobsWithAnArmedFault)->ArgName("ranks")->Arg(64)->UseManualTime();

// All ranks reduce 256 numbers, again and again, and nobody keeps evidence. A link that flaps makes each
// reduction one that is played out chunk by chunk; one that stays slow is played out once.
enum class Links { usual, slow, flapping };

void flap(Cluster& cluster, bool slow) {
    LinkChange change;
    change.from = 0;
    change.bandwidth_permille = slow ? 100 : 1000;
    cluster.change_link(change);
    cluster.at(cluster.now() + Time(20'000), [&cluster, slow] { flap(cluster, !slow); });
}

void all_reduce_steps(benchmark::State& state, Links links) {
    const auto ranks = static_cast<Rank>(state.range(0));
    const int steps = ranks > 4'096 ? 10 : ranks > 64 ? 100 : 2'000;
    double played = 0;
    for (auto _ : state) {
        double seconds = 0;
        on_stage([&](Engine& engine) {
            results::Evidence nothing;
            nothing.keep(false);
            Cluster cluster(engine, cluster_of(ranks), Seed{1}, nothing);
            if (links == Links::slow) cluster.change_link({.from = 0, .bandwidth_permille = 100});
            if (links == Links::flapping) cluster.at(Time{1}, [&] { flap(cluster, true); });
            cluster.run([&](World& world) {
                const auto comm = world.communicator({"world", Members::range(0, ranks), world.process()});
                std::vector<Number> data(256, 1);
                comm->barrier();
                if (world.process() == 0) seconds = cpu_seconds();
                for (int step = 0; step < steps; ++step) comm->all_reduce(data);
                if (world.process() == 0) seconds = cpu_seconds() - seconds;
            });
        });
        state.SetIterationTime(seconds);
        played += steps;
    }
    state.counters["steps"] = benchmark::Counter(played, benchmark::Counter::kIsRate);
}

void AllReduceSteps(benchmark::State& state) { all_reduce_steps(state, Links::usual); }
void AllReduceStepsOverASlowLink(benchmark::State& state) { all_reduce_steps(state, Links::slow); }
void AllReduceStepsOverAFlappingLink(benchmark::State& state) { all_reduce_steps(state, Links::flapping); }

BENCHMARK(AllReduceSteps)->Apply(once)->Arg(64)->Arg(1'024)->Arg(16'384);
BENCHMARK(AllReduceStepsOverASlowLink)->Apply(once)->Arg(64)->Arg(1'024);
BENCHMARK(AllReduceStepsOverAFlappingLink)->Apply(once)->Arg(64);

// A million ranks, all alike but one: one fiber plays for the crowd.
void TrainingJobOfACrowd(benchmark::State& state) {
    ClusterSettings settings = cluster_of(static_cast<Rank>(state.range(0)));
    settings.individuals = 64;
    settings.apart = {static_cast<Rank>(state.range(0) / 3)};
    const scenarios::Values values = training(20);
    for (auto _ : state) {
        on_stage([&](Engine& engine) {
            const double start = cpu_seconds();
            benchmark::DoNotOptimize(play(engine, settings, values, 1, {}));
            state.SetIterationTime(cpu_seconds() - start);
        });
    }
}
BENCHMARK(TrainingJobOfACrowd)
    ->ArgName("ranks")
    ->Arg(16'384)
    ->Arg(1'000'000)
    ->Iterations(1)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

void HashingOfAnEvent(benchmark::State& state) {
    TraceHash hash;
    std::uint64_t event = 0;
    for (auto _ : state) {
        hash.add(event, event, event & 1023, 7);
        ++event;
    }
    benchmark::DoNotOptimize(hash.value());
    state.counters["events"] = benchmark::Counter(static_cast<double>(event), benchmark::Counter::kIsRate);
}
BENCHMARK(HashingOfAnEvent);

}  // namespace
