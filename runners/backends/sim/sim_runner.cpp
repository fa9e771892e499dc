// runners/backends/sim/sim_runner.cpp — Turns a plan into a cluster with faults armed, and what happened in
// it into a record.
#include "runners/backends/sim/sim_runner.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <malloc.h>

#include "runners/backend/plan_settings.h"
#include "runners/backends/sim/conductor.h"
#include "sim/workloads/workload_catalog.h"

namespace deadrank::runners {

namespace {

using scenarios::Plan;

constexpr std::uint64_t step_limit = 2'000'000'000;  // minutes of a loop that lets no time pass
constexpr std::int64_t crowd = 1 << 16;              // ranks

// What many ranks held lies in small pieces that the C library keeps; detectors need large ones next.
void give_memory_back() {
#ifdef __GLIBC__
    ::malloc_trim(0);
#endif
}

struct Prepared {
    sim::ClusterSettings cluster;
    const sim::WorkloadKind* workload = nullptr;
};

Result<Prepared> prepare(const Plan& plan, const sim::WorkloadKind* workload) {
    auto settings = cluster_settings(plan.cluster);
    if (!settings) return tl::unexpected(settings.error());
    settings->agent_keeps_store = plan.workload_kind == "program" &&
                                  settings->launcher == sim::LauncherKind::torchrun &&
                                  !plan.cluster.contains("store");
    if (!workload) {
        return scenarios::refuse(scenarios::ErrorCode::unsupported,
                                 fmt::format("the simulator has no workload '{}'", plan.workload_kind));
    }
    const auto& wanted = workload->words.launcher;
    if ((settings->launcher == sim::LauncherKind::replicas) == wanted.empty()) {
        return scenarios::refuse(
            scenarios::ErrorCode::unsupported,
            wanted.empty() ? fmt::format("'{}' cannot go on without one of its ranks", plan.workload_kind)
                           : fmt::format("'{}' needs a launcher for each of its ranks", plan.workload_kind),
            wanted.empty() ? "play elastic, or another launcher"
                           : "say launcher = \"replicas\" in [cluster]");
    }
    if (settings->individuals > 0) {
        if (plan.workload_kind != "data_parallel") {
            return scenarios::refuse(
                scenarios::ErrorCode::unsupported,
                fmt::format("the ranks of '{}' are not alike, so they cannot be a crowd", plan.workload_kind),
                "leave out 'individuals', or play data_parallel");
        }
    }
    return Prepared{*settings, workload};
}

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

sim::ClusterOptions cluster_options(const Plan& plan, const RunOptions& options) {
    sim::ClusterOptions chosen;
    if (options.explore_order) chosen.explore_order = sim::Seed{plan.seed.number};
    chosen.step_limit = step_limit;
    chosen.stop = options.stop;
    chosen.watch = {options.watch_first, options.watch_last};
    return chosen;
}

Result<Record> play(sim::Engine& engine, const Plan& plan, const Prepared& prepared,
                    const RunOptions& options) {
    Record record;
    record.evidence.keep(options.keep_evidence);
    auto injector = inject::Injector::make(plan.faults, record.truth);
    if (!injector) return tl::unexpected(injector.error());
    for (const std::string& kind : options.muted) injector->mute(kind);
    sim::Cluster cluster(engine, prepared.cluster, sim::Seed{plan.seed.number}, record.evidence,
                         cluster_options(plan, options));
    Conductor conductor(cluster, *injector);
    if (const auto started = conductor.start(); !started) return tl::unexpected(started.error());
    const auto result = cluster.run(prepared.workload->script(plan.workload));
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

}  // namespace

const sim::WorkloadKind* SimRunner::find_workload(std::string_view name) const {
    for (const sim::WorkloadKind& kind : more_) {
        if (kind.words.name == name) return &kind;
    }
    return sim::find_workload(name);
}

scenarios::Capabilities SimRunner::capabilities() const {
    return {.backend = "sim", .levers = {"*"}, .workloads = {"*"}};
}

Result<Record> SimRunner::run(const Plan& plan, const RunOptions& options) {
    const auto prepared = prepare(plan, find_workload(plan.workload_kind));
    if (!prepared) return tl::unexpected(prepared.error());
    Result<Record> record = scenarios::refuse(scenarios::ErrorCode::internal, "the stage never played");
    stages_.play([&](sim::Engine& engine) { record = play(engine, plan, *prepared, options); });
    if (plan.world_size() >= crowd) give_memory_back();
    return record;
}

}  // namespace deadrank::runners
