// runners/backends/sim/sim_runner.cpp — Turns a plan into a cluster with faults armed, and what happened in
// it into a record.
#include "runners/backends/sim/sim_runner.h"

#include <fmt/format.h>
#include <malloc.h>

#include "runners/backends/sim/python_play.h"
#include "runners/backends/sim/sim_play.h"
#include "scenarios/model/kind_ids.h"
#include "scenarios/model/python_program.h"
#include "sim/machine/plan_settings.h"
#include "sim/workloads/workload_catalog.h"

namespace deadrank::runners {

namespace {

using scenarios::Plan;
using scenarios::Result;

constexpr std::int64_t crowd = 1 << 16;  // ranks

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
    auto settings = sim::cluster_settings(plan.cluster);
    if (!settings) return tl::unexpected(settings.error());
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
        if (plan.workload_kind != scenarios::WorkloadId::data_parallel) {
            return scenarios::refuse(
                scenarios::ErrorCode::unsupported,
                fmt::format("the ranks of '{}' are not alike, so they cannot be a crowd", plan.workload_kind),
                "leave out 'individuals', or play data_parallel");
        }
    }
    if (workload->check)
        if (const auto fits = workload->check(plan.workload, static_cast<sim::Rank>(plan.world_size())); !fits)
            return tl::unexpected(fits.error());
    return Prepared{*settings, workload};
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

std::string SimRunner::find_missing(const scenarios::Scenario& scenario) {
    if (scenario.workload_kind != scenarios::python_workload) return {};
    const auto gpus = scenario.workload.find("gpus");
    const bool with_gpus = gpus != scenario.workload.end() && gpus->second.options.front().number != 0;
    const auto settings = python_settings({.count = with_gpus ? 1 : 0});
    // What this machine fails at is no reason to skip: the run tries again, and is unknown.
    const bool known = settings || settings.error().code == scenarios::ErrorCode::io;
    return known ? std::string() : settings.error().text();
}

Result<Record> SimRunner::play(const Plan& plan, const RunOptions& options) {
    if (plan.workload_kind == scenarios::python_workload) {
        if (!python_) python_ = std::make_shared<sim::managed::WarmPython>();
        return play_python(plan, options, faults_, python_);
    }
    const auto prepared = prepare(plan, find_workload(plan.workload_kind));
    if (!prepared) return tl::unexpected(prepared.error());
    Result<Record> record = scenarios::refuse(scenarios::ErrorCode::internal, "the stage never played");
    const Performance performance{.cluster = prepared->cluster,
                                  .script = prepared->workload->script(plan.workload)};
    stages_.play(
        [&](sim::Engine& engine) { record = simulate(engine, faults_, plan, performance, options); });
    if (plan.world_size() >= crowd) give_memory_back();
    return record;
}

}  // namespace deadrank::runners
