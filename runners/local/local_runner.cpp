// runners/local/local_runner.cpp — One run: a directory, settings for each rank, torchrun, and what was left
// afterwards.
#include "runners/local/local_runner.h"

#include <algorithm>
#include <fmt/format.h>
#include <fstream>
#include <memory>
#include <optional>
#include <unistd.h>

#include "runners/local/arming.h"
#include "runners/local/harvest.h"
#include "runners/local/home.h"
#include "runners/local/job.h"
#include "runners/local/launch.h"
#include "runners/local/python.h"
#include "runners/local/taken_port.h"
#include "runners/undo/journal.h"

namespace deadrank::runners {

namespace fs = std::filesystem;
using scenarios::ErrorCode;
using scenarios::refuse;

namespace {

// A real time-out must really pass. Stated ones are kept up to a bound; the library's default of many minutes
// is shortened.
constexpr std::int64_t longest_timeout = 30'000'000'000;
constexpr std::int64_t played_timeout = 10'000'000'000;
// torchrun waits 30 s for a rank that does not answer its SIGTERM; before that a silence is no hang.
constexpr std::int64_t patience = 36'000'000'000;
constexpr std::int64_t shortest_watch = 66'000'000'000;  // a detector calls a wait of 60 s a hang
constexpr std::int64_t longest_watch = 120'000'000'000;
constexpr std::int64_t start_allowance = 90'000'000'000;

// The directory of one run's raw files; removed at the end when nobody asked to keep it.
class Scratch {
public:
    explicit Scratch(const fs::path& kept) : keep_(!kept.empty()) {
        path_ = keep_ ? fs::absolute(kept) / "processes"
                      : fs::temp_directory_path() / fmt::format("deadrank-{}-{}", getpid(), now());
        std::error_code ignored;
        fs::remove_all(path_, ignored);
        for (const char* part : {"evidence", "truth", "logs", "checkpoints"})
            fs::create_directories(path_ / part, failed_);
        std::ofstream(path_ / ".deadrank") << "made by a run of deadrank; `deadrank undo` may remove it\n";
    }
    ~Scratch() {
        std::error_code ignored;
        if (!keep_) fs::remove_all(path_, ignored);
    }
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;

    const fs::path& path() const { return path_; }
    std::error_code failed() const { return failed_; }

private:
    bool keep_;
    fs::path path_;
    std::error_code failed_;
};

std::int64_t timeout_of(const scenarios::Plan& plan, Record& record) {
    const auto stated = plan.cluster.find("collective_timeout");
    const bool bounded = cluster_number(plan, "watchdog", 1) != 0;
    if (!bounded && stated != plan.cluster.end()) return stated->second.number;  // nothing ends the wait
    if (stated == plan.cluster.end()) return played_timeout;
    if (stated->second.number > 0 && stated->second.number <= longest_timeout) return stated->second.number;
    record.notes.push_back(
        fmt::format("the collective time-out of {} is played as 10s", scenarios::value_text(stated->second)));
    return played_timeout;
}

// How long a silence is watched before the job counts as stuck. Where nothing bounds the waits, that is how
// long the plan has an observer look.
std::int64_t quiet_of(const scenarios::Plan& plan, std::int64_t timeout) {
    if (cluster_number(plan, "watchdog", 1) == 0) {
        return std::clamp<std::int64_t>(cluster_number(plan, "observe", 0), shortest_watch, longest_watch);
    }
    return std::max(timeout + patience, shortest_watch);
}

void say_how_it_ended(const Launched& launched, std::int64_t quiet, Record& record) {
    const auto seconds = static_cast<double>(launched.ended - launched.started) / 1e9;
    switch (launched.end) {
        case LaunchEnd::ended:
            break;
        case LaunchEnd::stuck:
            record.notes.push_back(fmt::format("ended by us after {:.1f}s: no sign of life for {}s", seconds,
                                               quiet / 1'000'000'000));
            break;
        case LaunchEnd::over_limit:
            record.notes.push_back(fmt::format("ended by us after {:.1f}s: over the limit", seconds));
            break;
        case LaunchEnd::stopped:
            record.notes.push_back(fmt::format("stopped by request after {:.1f}s", seconds));
            break;
    }
}

}  // namespace

scenarios::Capabilities LocalRunner::capabilities() const {
    return {
        .backend = "local", .levers = LocalLevers::names(), .workloads = subject_workloads(), .ranks_max = 8};
}

scenarios::Result<Record> LocalRunner::run(const scenarios::Plan& plan, const RunOptions& options) {
    if (const auto stated = plan.cluster.find("launcher");
        stated != plan.cluster.end() && (stated->second.text == "mpirun" || stated->second.text == "test")) {
        return refuse(ErrorCode::unsupported,
                      "real PyTorch processes are started by torchrun or bare, not by mpirun or a test",
                      "play this scenario with --runner sim");
    }
    const auto home = local_home();
    if (!home) return tl::unexpected(home.error());
    const auto python = best_python();
    if (!python) return tl::unexpected(python.error());
    const Scratch scratch(options.directory);
    auto journal = Journal::open();
    if (!journal) return tl::unexpected(journal.error());
    std::optional<Journal::Entry> litter;
    if (options.directory.empty()) {
        auto noted = journal->note({Deed::Undo::remove_directory, scratch.path().string()});
        if (!noted) return tl::unexpected(noted.error());
        litter.emplace(std::move(*noted));
    }
    if (scratch.failed()) {
        return refuse(
            ErrorCode::io,
            fmt::format("'{}' cannot be written: {}", scratch.path().string(), scratch.failed().message()),
            "choose another directory with --out");
    }
    Record record;
    record.notes.push_back(fmt::format("real processes: {}, gloo, {}", python->text(),
                                       starts_bare(plan) ? "started bare" : "torchrun"));
    const std::int64_t timeout = timeout_of(plan, record);
    const fs::path checkpoints = scratch.path() / "checkpoints";
    const auto subject = subject_for(plan, *home, checkpoints, static_cast<double>(timeout) / 1e9);
    if (!subject) return tl::unexpected(subject.error());
    LocalLevers levers(static_cast<results::Rank>(plan.world_size()),
                       static_cast<results::Rank>(cluster_number(plan, "gpus_per_node", 0)),
                       scratch.path() / "broken");
    const auto arming = arm(plan, *subject, checkpoints, levers);
    if (!arming) return tl::unexpected(arming.error());
    std::ofstream(scratch.path() / "plan.json") << arming->hook_plan;

    const JobPlace place{scratch.path(), *home / "hook", TakenPort::any_free()};
    std::unique_ptr<TakenPort> taken;
    if (levers.port_taken()) {
        taken = std::make_unique<TakenPort>(place.port, levers.port_mute());
        if (!taken->taken())
            return refuse(ErrorCode::io, fmt::format("port {} could not be taken", place.port),
                          "run it again");
    }
    LaunchSpec spec;
    spec.children = children_of(plan, *subject, *python, place);
    spec.directory = scratch.path();
    spec.quiet = results::Time(quiet_of(plan, timeout));
    const std::int64_t work = plan.workload.contains("steps") ? plan.number(plan.workload, "steps") : 0;
    const std::int64_t step =
        plan.workload.contains("step_time") ? plan.number(plan.workload, "step_time") : 0;
    spec.limit = results::Time(start_allowance + 4 * work * step + 2 * spec.quiet.count());
    spec.stop = options.stop;
    const auto launched = launch(spec);
    if (!launched) return tl::unexpected(launched.error());
    say_how_it_ended(*launched, spec.quiet.count(), record);
    gather({plan, *launched, *arming, levers, scratch.path()}, record);
    return record;
}

}  // namespace deadrank::runners
