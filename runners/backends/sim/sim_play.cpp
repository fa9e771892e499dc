// runners/backends/sim/sim_play.cpp — One run in the simulated cluster: a cluster with faults armed, and what
// happened in it as a record.
#include "runners/backends/sim/sim_play.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runners/backend/memory.h"
#include "runners/backends/sim/conductor.h"

namespace deadrank::runners {

using scenarios::Plan;
using scenarios::Result;

namespace {

constexpr std::uint64_t step_limit = 2'000'000'000;  // minutes of a loop that lets no time pass

// results and sim each define this enumeration, in the same order, since sim is kept apart from inject.
results::RankEnd rank_end(sim::ProcessEnd end) {
    static_assert(static_cast<int>(results::RankEnd::stuck) == static_cast<int>(sim::ProcessEnd::stuck));
    return static_cast<results::RankEnd>(end);
}

std::string_view name_of(sim::Ending ending) {
    switch (ending) {
        case sim::Ending::completed:
            return "every rank has ended";
        case sim::Ending::deadlock:
            return "no further event was possible";
        case sim::Ending::time_limit:
            return "the time limit was reached";
        case sim::Ending::step_limit:
            return "time no longer advanced";
        case sim::Ending::stopped:
            return "it was stopped";
        case sim::Ending::failed:
            return "this machine failed";
    }
    return "";
}

void conclude(Record& record, const sim::RunResult& result) {
    record.evidence.finish(result.observed_until);
    for (const sim::ProcessEnd end : result.ends) record.truth.ends.push_back(rank_end(end));
    record.truth.waits_for = result.waits_for;
    if (result.ending == sim::Ending::deadlock) {
        record.truth.marks.push_back({.at = result.end,
                                      .kind = results::MarkKind::deadlock,
                                      .fault = -1,
                                      .blame = {},
                                      .says = fmt::format("{}", fmt::join(result.waits_for, "; "))});
    }
    record.truth.marks.push_back({.at = result.end,
                                  .kind = results::MarkKind::ending,
                                  .fault = -1,
                                  .blame = {},
                                  .says = std::string(name_of(result.ending))});
    record.trace_hash = result.hash;
    record.rank_hashes = result.rank_hashes;
    record.checkpoints = result.checkpoints;
    record.events = result.events;
    for (const sim::WatchedEvent& seen : result.watched) {
        const auto rank = seen.cause.target == sim::nobody ? results::no_rank
                                                           : static_cast<results::Rank>(seen.cause.target);
        record.watched.push_back({seen.index, seen.time, rank, seen.cause.label, seen.cause.digest});
    }
    record.ended = result.end;
}

// ── Memory. A run that would take all of it is refused or ended, before the kernel kills this process.

constexpr std::uint64_t memory_asked_every = 1 << 18;  // steps of the engine: some 50 MB of events
constexpr std::int64_t rank_bytes_least = 8 << 10;     // a touched page of its stack, and its process

// What the run needs at least: a stack for each rank, the beginning and the end of each step as evidence, and
// one row of each rank's parameters. 8 ranks with 2^62 steps need 2^73 bytes, so the sum is a double.
double least_bytes(const Plan& plan, const sim::ClusterSettings& cluster, bool keeps_evidence) {
    const auto stated = [&](const char* name) {
        const auto found = plan.workload.find(name);
        return found == plan.workload.end() ? 0.0 : static_cast<double>(found->second.number);
    };
    const double apart = static_cast<double>(cluster.individuals) + static_cast<double>(cluster.apart.size());
    const double ranks = cluster.individuals > 0 ? apart : static_cast<double>(cluster.process_count());
    const double events = keeps_evidence ? 2 * stated("steps") * sizeof(results::Event) : 0;
    return ranks * (static_cast<double>(rank_bytes_least) + events + stated("width") * sizeof(std::int64_t));
}

Result<void> check_memory(const Plan& plan, const sim::ClusterSettings& cluster, const RunOptions& options,
                          const MemoryBudget& budget) {
    constexpr double largest = 4e18;
    const double least = least_bytes(plan, cluster, options.keep_evidence);
    return budget.admit(static_cast<std::int64_t>(std::min(least, largest)));
}

sim::ClusterOptions cluster_options(const Performance& performance, const RunOptions& options,
                                    const MemoryBudget& budget) {
    sim::ClusterOptions chosen;
    if (options.order_seed) chosen.explore_order = sim::Seed{*options.order_seed};
    chosen.step_limit = step_limit;
    chosen.stop = [&options, &performance, &budget, asked = std::uint64_t{0}]() mutable {
        asked += performance.stop_asked_every;
        if (asked >= memory_asked_every) {
            asked = 0;
            if (budget.exceeded()) return true;
        }
        return (options.stop && options.stop->load()) || (performance.stop && performance.stop());
    };
    chosen.stop_asked_every = std::min(performance.stop_asked_every, memory_asked_every);
    chosen.stack_bytes = performance.stack_bytes;
    chosen.at_standstill = performance.at_standstill;
    chosen.watch = {options.watch_first, options.watch_last};
    return chosen;
}

}  // namespace

Result<Record> simulate(sim::Engine& engine, const inject::FaultCatalog& faults, const Plan& plan,
                        const Performance& performance, const RunOptions& options) {
    const MemoryBudget budget(options.memory);
    if (auto enough = check_memory(plan, performance.cluster, options, budget); !enough)
        return tl::unexpected(enough.error());
    Record record;
    record.evidence.keep(options.keep_evidence);
    auto injector = inject::Injector::make(faults, plan.faults, record.truth);
    if (!injector) return tl::unexpected(injector.error());
    for (const std::string& kind : options.muted) injector->mute(kind);
    if (performance.gate) injector->ask(performance.gate);
    sim::Cluster cluster(engine, performance.cluster, sim::Seed{plan.seed.number}, record.evidence,
                         cluster_options(performance, options, budget));
    Conductor conductor(cluster, *injector, performance.patch);
    if (const auto started = conductor.start(); !started) return tl::unexpected(started.error());
    const auto result = cluster.run(performance.script);
    if (performance.at_end) performance.at_end(cluster);
    if (result.ending == sim::Ending::stopped && budget.exceeded()) return tl::unexpected(budget.refusal());
    if (result.ending == sim::Ending::step_limit) {
        return scenarios::refuse(
            scenarios::ErrorCode::internal,
            fmt::format("{} went on for {} steps at {} ns", plan.scenario, step_limit, result.end.count()),
            "a workload waits in a loop that lets no time pass");
    }
    conductor.conclude(result.end);
    conclude(record, result);
    return record;
}

}  // namespace deadrank::runners
