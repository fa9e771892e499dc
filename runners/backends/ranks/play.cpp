// runners/backends/ranks/play.cpp — Faults of the start are tried in a dry run first: what the backend cannot
// do is refused before anything runs.
#include "runners/backends/ranks/play.h"

#include <algorithm>
#include <fmt/format.h>
#include <unistd.h>

#include "inject/core/fault.h"
#include "inject/core/injector.h"
#include "inject/faults/fault_catalog.h"
#include "results/record/text_file.h"
#include "runners/backends/process/scratch.h"
#include "runners/backends/ranks/gate.h"
#include "runners/backends/ranks/life.h"
#include "runners/backends/ranks/rank_files.h"
#include "sim/workloads/workload_catalog.h"

namespace deadrank::runners {

namespace fs = std::filesystem;
using results::Time;
using scenarios::ErrorCode;
using scenarios::refuse;
using scenarios::Result;

namespace {

// In job time. Detectors call a wait of a minute a hang, so longer time-outs are shortened to a little more
// than that.
constexpr std::int64_t longest_timeout = 90'000'000'000;
constexpr std::int64_t played_timeout = 75'000'000'000;
constexpr std::int64_t watched = 70'000'000'000;
constexpr std::int64_t margin = 10'000'000'000;
// Shorter steps would drown in this machine's jitter, a few milliseconds of real time.
constexpr std::int64_t shortest_step = 1'000'000'000;
// Real time for mpirun and MPI_Init, or CUDA, to start on a busy machine.
constexpr std::chrono::seconds start_allowance{30};

Result<void> playable(const scenarios::Plan& plan, std::string_view job) {
    const auto refuse_plan = [job](const std::string& why) {
        return refuse(ErrorCode::unsupported, fmt::format("{} cannot {}", job, why),
                      "play this scenario with --runner sim");
    };
    if (launcher_of(plan) == scenarios::LauncherKind::test) return refuse_plan("be a test of a test suite");
    if (cluster_number(plan, "restarts_max", 0) > 0) return refuse_plan("be started again by its launcher");
    if (cluster_number(plan, "requeue_after", 0) > 0) return refuse_plan("be queued again by a scheduler");
    if (cluster_number(plan, "individuals", 0) > 0) return refuse_plan("be a crowd");
    if (cluster_number(plan, "clock_offset", 0) != 0 || cluster_number(plan, "clock_drift", 0) != 0)
        return refuse_plan("have clocks that differ: all ranks are on one machine");
    if (scenarios::cluster_choice<scenarios::DebugLevel>(plan, "debug") == scenarios::DebugLevel::detail)
        return refuse_plan("compare its calls beforehand, as TORCH_DISTRIBUTED_DEBUG=DETAIL does");
    return {};
}

void shorten(scenarios::Values& values, const char* name, Record& record) {
    const auto found = values.find(name);
    if (found == values.end() || found->second.number <= longest_timeout) return;
    record.notes.push_back(
        fmt::format("{} of {} is played as 75s", name, scenarios::value_text(found->second)));
    found->second.number = played_timeout;
}

void lengthen_steps(scenarios::Values& workload, Record& record) {
    const auto found = workload.find("step_time");
    if (found == workload.end() || found->second.number >= shortest_step) return;
    record.notes.push_back(
        fmt::format("step_time of {} is played as 1s", scenarios::value_text(found->second)));
    found->second.number = shortest_step;
}

// What the harness knows of the faults: their texts for the truth, and that those of the start can be done.
struct PreparedFaults {
    std::vector<inject::PlannedFault> faults;
    results::Truth truth;
};
Result<PreparedFaults> prepare_faults(const scenarios::Plan& plan, RealLevers& levers) {
    PreparedFaults paper;
    for (const scenarios::FaultSpec& spec : plan.faults) {
        auto planned = inject::make_fault(inject::fault_catalog(), spec);
        if (!planned) return tl::unexpected(planned.error());
        paper.faults.push_back(std::move(*planned));
    }
    auto injector = inject::Injector::make(inject::fault_catalog(), plan.faults, paper.truth);
    if (!injector) return tl::unexpected(injector.error());
    levers.starting(true);
    if (const auto started = injector->at_start(levers); !started) return tl::unexpected(started.error());
    return paper;
}

LaunchSpec launch_spec(const scenarios::Plan& plan, const fs::path& directory, std::atomic<bool>* stop) {
    const bool watchdog = cluster_number(plan, "watchdog", 1) != 0;
    const std::int64_t timeout = cluster_number(plan, "collective_timeout", played_timeout);
    const std::int64_t step =
        plan.workload.contains("step_time") ? plan.number(plan.workload, "step_time") : 0;
    const std::int64_t steps = plan.workload.contains("steps") ? plan.number(plan.workload, "steps") : 0;
    std::int64_t quiet = std::max(watched, 4 * step);
    if (watchdog) quiet = std::max(quiet, timeout + margin);
    LaunchSpec spec;
    spec.directory = directory;
    spec.quiet = JobClock::real(Time(quiet));
    spec.start = start_allowance;
    spec.limit = 2 * start_allowance + JobClock::real(Time(3 * quiet + 8 * steps * step));
    spec.stop = stop;
    return spec;
}

void note_launch_end(const Launched& launched, const LaunchSpec& spec, Record& record) {
    const double seconds = static_cast<double>(launched.ended - launched.started) / 1e9;
    if (launched.end == LaunchEnd::stuck) {
        record.notes.push_back(
            fmt::format("ended by the watchdog outside the job after {:.1f}s: no sign of life for {:.1f}s",
                        seconds, static_cast<double>(spec.quiet.count()) / 1e9));
    } else if (launched.end == LaunchEnd::over_limit) {
        record.notes.push_back(fmt::format("ended by us after {:.1f}s: over the limit", seconds));
    } else if (launched.end == LaunchEnd::stopped) {
        record.notes.push_back(fmt::format("stopped by request after {:.1f}s", seconds));
    }
}

// No rank ever started: the machine is at fault, not the job.
Result<void> began(const Launched& launched, const RankBackend& backend) {
    if (!launched.ranks.empty() || launched.end == LaunchEnd::stopped) return {};
    std::string last = "it said nothing";
    for (const Line& line : launched.lines) {
        if (!line.text.empty() && !line.text.starts_with("-----")) last = line.text;
    }
    return refuse(ErrorCode::environment, fmt::format("{} started no rank: {}", backend.starter, last),
                  backend.remedy);
}

}  // namespace

scenarios::Capabilities rank_capabilities(const std::string& backend, const Reach& reach) {
    scenarios::Capabilities able{
        .backend = backend, .levers = RealLevers::names(reach), .workloads = {}, .ranks_max = 16};
    for (const sim::WorkloadKind& one : sim::workload_catalog()) {
        if (one.words.launcher.empty() && !one.words.own_words) able.workloads.push_back(one.words.name);
    }
    return able;
}

Result<Record> play_ranks(const scenarios::Plan& plan, const RunOptions& options,
                          const RankBackend& backend) {
    if (const auto may = playable(plan, backend.reach.job); !may) return tl::unexpected(may.error());
    RealLevers levers(backend.reach, static_cast<results::Rank>(plan.world_size()),
                      static_cast<results::Rank>(cluster_number(plan, "gpus_per_node", 0)), results::no_rank);
    const auto paper = prepare_faults(plan, levers);
    if (!paper) return tl::unexpected(paper.error());
    std::vector<std::string> parts = {"evidence", "truth", "logs", "meeting", "storage"};
    parts.insert(parts.end(), backend.directories.begin(), backend.directories.end());
    const auto scratch = Scratch::make(options.directory, parts);
    if (!scratch) return tl::unexpected(scratch.error());

    Record record;
    record.notes.push_back(fmt::format("{}; a second is {} of the job's", backend.says, JobClock::stretch));
    scenarios::Plan played = plan;
    shorten(played.cluster, "collective_timeout", record);
    shorten(played.cluster, "store_timeout", record);
    shorten(played.workload, "store_timeout", record);
    lengthen_steps(played.workload, record);
    if (auto written = results::write_text(hidden_plan_text(played), scratch->path() / "plan.toml"); !written)
        return tl::unexpected(written.error());
    LaunchSpec spec = launch_spec(played, scratch->path(), options.stop);
    spec.quiet += backend.patience;
    spec.limit += 3 * backend.patience;
    spec.children = backend.children(played, scratch->path());
    const auto launched = launch(spec);
    if (!launched) return tl::unexpected(launched.error());
    if (const auto ran = began(*launched, backend); !ran) return tl::unexpected(ran.error());
    note_launch_end(*launched, spec, record);
    gather({plan, *launched, paper->faults, paper->truth.marks, levers, scratch->path()}, record);
    return record;
}

}  // namespace deadrank::runners
