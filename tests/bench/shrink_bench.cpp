// tests/bench/shrink_bench.cpp — Planted plans of 200 faults on 256 ranks, shrunk to what was planted: time,
// tries, and how far from the optimum the result is. The predicate costs nothing, so this is the search
// alone.
#include <benchmark/benchmark.h>

#include "runners/backend/extension.h"
#include "runners/find/harm.h"
#include "runners/find/shrink.h"

namespace {

using namespace deadrank;
using runners::find::Shrunk;
using scenarios::Plan;

const scenarios::Vocabulary& words() {
    static const scenarios::Vocabulary all = runners::vocabulary();
    return all;
}

// Fault i kills or stops rank i; its `nth` tells it from all others.
Plan crowded_plan(std::int64_t faults) {
    Plan plan = *runners::find::usual_plan("data_parallel", words());
    plan.cluster["nodes"].number = 32;
    plan.cluster["gpus_per_node"].number = 8;
    plan.workload["steps"].number = 64;
    plan.workload["layers"].number = 64;
    for (std::int64_t i = 1; i <= faults; ++i) {
        scenarios::FaultSpec fault{.kind = "stop_rank"};
        fault.parameters["rank"] = {.type = scenarios::ValueType::ranks, .list = {i}};
        fault.when.step = i % 64;
        fault.when.nth = i;
        plan.faults.push_back(std::move(fault));
    }
    return plan;
}

bool has(const Plan& plan, std::int64_t nth) {
    for (const auto& fault : plan.faults) {
        if (fault.when.nth == nth) return true;
    }
    return false;
}

// As many faults as the argument says are needed, spread over the plan, and twelve ranks and nine steps.
void shrink_planted(benchmark::State& state) {
    const Plan plan = crowded_plan(200);
    const std::int64_t needed = state.range(0);
    const auto fails = [&](const Plan& one) {
        for (std::int64_t i = 1; i <= needed; ++i) {
            if (!has(one, i * 200 / (needed + 1))) return false;
        }
        return one.world_size() >= 12 && one.number(one.workload, "steps") >= 9;
    };
    Shrunk shrunk;
    for (auto _ : state) shrunk = runners::find::shrink(plan, fails, words());
    state.counters["tries"] = static_cast<double>(shrunk.tries);
    state.counters["faults/optimum"] = static_cast<double>(shrunk.after.faults) / static_cast<double>(needed);
    state.counters["ranks/optimum"] = static_cast<double>(shrunk.after.ranks) / 12;
    state.counters["steps/optimum"] = static_cast<double>(shrunk.after.steps) / 9;
}
BENCHMARK(shrink_planted)->Arg(1)->Arg(2)->Arg(5)->Arg(10)->Unit(benchmark::kMillisecond);

}  // namespace
