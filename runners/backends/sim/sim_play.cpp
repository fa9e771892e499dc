// runners/backends/sim/sim_play.cpp — One run in the simulated cluster: a cluster with faults armed, and what
// happened in it as a record.
#include "runners/backends/sim/sim_play.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

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

sim::ClusterOptions cluster_options(const Plan& plan, const Performance& performance,
                                    const RunOptions& options) {
    sim::ClusterOptions chosen;
    if (options.explore_order) chosen.explore_order = sim::Seed{plan.seed.number};
    chosen.step_limit = step_limit;
    if (options.stop || performance.stop)
        chosen.stop = [&options, &performance] {
            return (options.stop && options.stop->load()) || (performance.stop && performance.stop());
        };
    chosen.stop_asked_every = performance.stop_asked_every;
    chosen.stack_bytes = performance.stack_bytes;
    chosen.watch = {options.watch_first, options.watch_last};
    return chosen;
}

}  // namespace

Result<Record> simulate(sim::Engine& engine, const inject::FaultCatalog& faults, const Plan& plan,
                        const Performance& performance, const RunOptions& options) {
    Record record;
    record.evidence.keep(options.keep_evidence);
    auto injector = inject::Injector::make(faults, plan.faults, record.truth);
    if (!injector) return tl::unexpected(injector.error());
    for (const std::string& kind : options.muted) injector->mute(kind);
    sim::Cluster cluster(engine, performance.cluster, sim::Seed{plan.seed.number}, record.evidence,
                         cluster_options(plan, performance, options));
    Conductor conductor(cluster, *injector, performance.patch);
    if (const auto started = conductor.start(); !started) return tl::unexpected(started.error());
    const auto result = cluster.run(performance.script);
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
