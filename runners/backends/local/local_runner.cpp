// runners/backends/local/local_runner.cpp — One run: a directory, settings for each rank, torchrun, and what
// was left afterwards.
#include "runners/backends/local/local_runner.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <fmt/format.h>
#include <memory>
#include <set>

#include "results/detectors/detector.h"
#include "results/record/codes.h"
#include "results/record/text_file.h"
#include "results/record/words.h"
#include "runners/backends/local/arming.h"
#include "runners/backends/local/local_harvest.h"
#include "runners/backends/local/local_job.h"
#include "runners/backends/local/local_subject.h"
#include "runners/backends/local/namespaces.h"
#include "runners/backends/process/guard.h"
#include "runners/backends/process/launch.h"
#include "runners/backends/process/mpirun.h"
#include "runners/backends/process/scratch.h"
#include "runners/backends/proxy/store_proxy.h"
#include "scenarios/model/release.h"

namespace deadrank::runners {

namespace fs = std::filesystem;
using scenarios::ErrorCode;
using scenarios::refuse;

namespace {

// For LD_PRELOAD, separated by colons.
std::string preloaded(const LocalLevers& levers, bool guarded) {
    std::string list = levers.link_changed() ? sockets_shim().string() : "";
    const std::string files = guarded || levers.storage_changed() ? files_shim().string() : "";
    if (!files.empty()) list += (list.empty() ? "" : ":") + files;
    return list;
}

void note_launch_end(const Launched& launched, const LaunchSpec& spec, Record& record) {
    const auto seconds = static_cast<double>(launched.ended - launched.started) / 1e9;
    const auto ended = [&](const std::string& why) {
        record.notes.push_back(fmt::format("ended by us after {:.1f}s: {}", seconds, why));
    };
    switch (launched.end) {
        case LaunchEnd::ended:
            break;
        case LaunchEnd::silent:
            ended(fmt::format("no output and no event for {}s",
                              std::chrono::duration_cast<std::chrono::seconds>(spec.start).count()));
            break;
        case LaunchEnd::stuck:
            ended(fmt::format("no sign of life for {}s",
                              std::chrono::duration_cast<std::chrono::seconds>(spec.quiet).count()));
            break;
        case LaunchEnd::over_limit:
            ended("over the limit");
            break;
        case LaunchEnd::over_disk:
            ended(fmt::format("it wrote more than {} MiB", spec.disk >> 20));
            break;
        case LaunchEnd::stopped:
            record.notes.push_back(fmt::format("stopped by request after {:.1f}s", seconds));
            break;
    }
    if (launched.end == LaunchEnd::ended && launched.left_behind > 0)
        record.notes.push_back(fmt::format("the command ended and left {} process{} running, ended by us",
                                           launched.left_behind, launched.left_behind == 1 ? "" : "es"));
    if (launched.lines_dropped > 0)
        record.notes.push_back(
            fmt::format("{} of output were dropped", results::counted(launched.lines_dropped, "line")));
}

// The last thing that a rank, or else the launcher, complained about.
std::string last_complaint(const Launched& launched) {
    std::string words;
    bool of_rank = false;
    for (const Line& line : launched.lines) {
        const bool blank = line.text.find_first_not_of(" \t") == std::string::npos;
        if (!line.error || blank || (of_rank && line.rank < 0)) continue;
        of_rank = line.rank >= 0;
        words = line.text;
    }
    return words;
}

// A crash of native code before any fault was applied is the program's or its framework's own.
scenarios::Result<void> check_it_lived(const Record& record) {
    if (record.truth.applied()) return {};
    for (const results::Event* event : record.evidence.each<results::RankExit>()) {
        const int signal = event->as<results::RankExit>()->signal;
        if (signal != SIGSEGV && signal != SIGBUS && signal != SIGILL && signal != SIGFPE) continue;
        return refuse(
            ErrorCode::environment,
            fmt::format("rank {} died of {} before any fault was applied: no fault had been applied",
                        event->rank, results::signal_name(signal)),
            "run it without us, as often, to see whether it does so there");
    }
    return {};
}

// Checks that a typed command started as many ranks as planned and began to train: otherwise no fault can
// have reached its moment.
scenarios::Result<void> check_it_ran(const scenarios::Plan& plan, const Launched& launched,
                                     const Record& record) {
    std::set<results::Rank> came;
    for (const auto& [pid, rank] : launched.ranks) came.insert(rank);
    const auto planned = static_cast<std::size_t>(plan.world_size());
    if (!came.empty() && came.size() != planned) {
        return refuse(ErrorCode::usage,
                      fmt::format("the command started {}, and the scenario is played on {}",
                                  results::counted(came.size(), "rank"), planned),
                      fmt::format("say --ranks {}, or let the command start {}", came.size(), planned));
    }
    const results::Evidence& seen = record.evidence;
    const bool trained = !seen.each<results::RendezvousEnter>().empty() ||
                         !seen.each<results::CommInitEnter>().empty() ||
                         !seen.each<results::StepEnd>().empty();
    const bool acted = std::any_of(record.truth.marks.begin(), record.truth.marks.end(),
                                   [](const auto& mark) { return mark.kind == results::MarkKind::applied; });
    const bool failed = launched.launcher.code != 0 || launched.launcher.signal != 0;
    if (came.empty() && !failed && launched.end == LaunchEnd::ended) {
        return refuse(ErrorCode::usage,
                      "the command started no Python process with a RANK, so that no fault could reach one",
                      fmt::format("start it as -- torchrun --nproc-per-node {} train.py does", planned));
    }
    if (trained || acted || !failed || launched.end != LaunchEnd::ended) return {};
    const std::string words = last_complaint(launched);
    return refuse(ErrorCode::environment,
                  fmt::format("the program ended before it trained, with code {}{}{}", launched.launcher.code,
                              words.empty() ? "" : ": ", words),
                  "run the command without us first");
}

// What is set up around the job and lives as long as it does.
struct Surroundings {
    std::unique_ptr<StoreProxy> proxy;
    std::unique_ptr<TakenPort> taken;
    std::optional<Namespaces> network;
};

scenarios::Result<Surroundings> set_up_surroundings(const LocalLevers& levers, int port) {
    Surroundings around;
    if (levers.network_changed() && (levers.port_taken() || !levers.behind_proxy().empty())) {
        return refuse(ErrorCode::unsupported, "store faults cannot be combined with network faults",
                      "play the faults of the store and those of links one after the other");
    }
    if (levers.network_changed()) {
        auto made = Namespaces::make(levers.node_of(levers.ranks() - 1) + 1);
        if (!made) return tl::unexpected(made.error());
        around.network.emplace(std::move(*made));
    }
    if (!levers.behind_proxy().empty()) {
        auto started = StoreProxy::start(levers.behind_proxy());
        if (!started) return tl::unexpected(started.error());
        around.proxy = std::move(*started);
    }
    if (levers.port_taken()) {
        around.taken = std::make_unique<TakenPort>(port, levers.port_mute());
        if (!around.taken->taken())
            return refuse(ErrorCode::io, fmt::format("port {} could not be taken", port), "run it again");
    }
    return around;
}

// What the job must know of them.
void put_job_into(const Surroundings& around, const LocalLevers& levers, JobPlace& place, Record& record) {
    if (around.proxy) place.store = around.proxy->ports_json();
    if (!around.network) return;
    place.address = Namespaces::address(0);
    place.network = around.network->places_of_ranks(levers);
    record.notes.push_back("each node is a network namespace of its own");
}

// Why the nodes of this job cannot have networks of their own; empty = they can.
std::string network_missing(const Manifest& manifest) {
    if (manifest.starts == Starts::itself)
        return "this subject starts its own ranks, outside our network namespaces";
    if (!manifest.hook) return "without the hook no rank would move into its node's network";
    return namespaces_missing();
}

scenarios::Result<void> check_launcher(const scenarios::Plan& plan) {
    if (cluster_number(plan, "requeue_after", 0) > 0 || cluster_number(plan, "spare_nodes", 0) > 0 ||
        cluster_number(plan, "health_check", 0) > 0)
        return refuse(ErrorCode::unsupported, "one machine has no scheduler and no spare nodes",
                      "play this scenario with --runner sim");
    const scenarios::LauncherKind launcher = launcher_of(plan);
    if (launcher == scenarios::LauncherKind::torchrun || launcher == scenarios::LauncherKind::bare) return {};
    return refuse(
        ErrorCode::unsupported,
        launcher == scenarios::LauncherKind::replicas
            ? "real PyTorch processes are started by torchrun or bare, not each by a launcher of its own"
            : "real PyTorch processes are started by torchrun or bare, not by mpirun or a test",
        "play this scenario with --runner sim");
}

// A directory of its own for temporary files where the run's has a long name: sockets below it must fit.
scenarios::Result<std::optional<Scratch>> temporary_of(const Scratch& scratch) {
    constexpr std::size_t short_enough = 40;  // of 107 bytes; Ray's need 66
    if ((scratch.path() / "tmp").native().size() <= short_enough) return std::nullopt;
    auto made = Scratch::make({}, {"tmp"});
    if (!made) return tl::unexpected(made.error());
    return std::optional<Scratch>(std::move(*made));
}

LocalLevers levers_for(const scenarios::Plan& plan, const Manifest& manifest, const Scratch& scratch) {
    LocalLevers levers(static_cast<results::Rank>(plan.world_size()),
                       static_cast<results::Rank>(cluster_number(plan, "gpus_per_node", 0)),
                       scratch.path() / "broken");
    levers.network_missing(network_missing(manifest));
    if (plays_a_release(plan)) levers.overlays(release_overlays(plan));
    return levers;
}

// Asking each Python whether it has torch takes seconds: skipped for a program that needs none.
scenarios::Result<Python> python_for(const Manifest& manifest) {
    const bool needed = manifest.starts == Starts::ranks || !manifest.needs.empty();
    auto python = needed || manifest.hook ? best_python() : scenarios::Result<Python>(Python{});
    if (!python && needed) return python;
    if (!python) python = Python{};
    if (auto there = check_needs(manifest, *python); !there) return tl::unexpected(there.error());
    return python;
}

std::string describe_program(const scenarios::Plan& plan, const Manifest& manifest, const Python& python) {
    return fmt::format("real processes: {}, {}, {}", manifest.name,
                       python.torch.empty() ? "no torch of ours" : python.text() + ", gloo",
                       manifest.starts == Starts::itself                    ? "started by its own command"
                       : launcher_of(plan) == scenarios::LauncherKind::bare ? "started bare"
                                                                            : "torchrun");
}

// Moves each process into its node's network, a launcher into that of the first node.
void put_into(const Namespaces& network, const LocalLevers& levers, std::vector<ChildSpec>& children) {
    for (ChildSpec& child : children)
        child.command = network.inside(child.rank < 0 ? 0 : levers.node_of(child.rank), child.command);
}

// Restores the user's files to what they were before the run.
scenarios::Result<void> give_back_to(Guard& guard, Record& record) {
    const auto given = guard.end();
    if (!given) return tl::unexpected(given.error());
    if (given->files + given->removed + given->told.size() > 0)
        record.notes.push_back("of what the program changed, the run " + given->says);
    return {};
}

// True if the program is not one of our own subjects.
bool is_user_program(const Manifest& manifest, const fs::path& home) {
    std::error_code ignored;
    return !fs::equivalent(manifest.directory, home / "subjects", ignored);
}

// Turns a finished job into its record.
scenarios::Result<Record> conclude(const Harvest& harvest, const LaunchSpec& spec, Record record) {
    const Launched& launched = harvest.launched;
    if (const std::string why = too_slow(launched); !why.empty())
        return refuse(ErrorCode::environment, "this machine was too slow for a verdict: " + why,
                      "run it again when less else is running");
    note_launch_end(launched, spec, record);
    gather(harvest, record);
    if (auto lived = check_it_lived(record); !lived) return tl::unexpected(lived.error());
    if (plays_a_release(harvest.plan) && launched.end != LaunchEnd::stopped) {
        if (auto seen = check_release(harvest.plan, launched, record); !seen)
            return tl::unexpected(seen.error());
    }
    if (harvest.manifest.starts == Starts::itself && harvest.manifest.hook) {
        if (auto ran = check_it_ran(harvest.plan, launched, record); !ran) return tl::unexpected(ran.error());
        for (std::string& spot : results::blind_spots(record.evidence))
            record.notes.push_back("blind: " + std::move(spot));
    }
    return record;
}

}  // namespace

scenarios::Capabilities LocalRunner::capabilities() const {
    scenarios::Capabilities able{
        .backend = "local", .levers = LocalLevers::names(), .workloads = {"*"}, .ranks_max = 8};
    if (subject_ && !subject_->plays.empty()) able.workloads = subject_->plays;
    if (subject_) return able;
    if (const auto shipped = shipped_subjects()) {  // where they are missing, run() says why
        able.workloads.clear();
        for (const Manifest& one : *shipped)
            able.workloads.insert(able.workloads.end(), one.usual.begin(), one.usual.end());
        able.workloads.emplace_back(scenarios::release_workload);
    }
    return able;
}

scenarios::Result<Manifest> LocalRunner::subject_of(const scenarios::Plan& plan) const {
    if (plays_a_release(plan)) return release_subject(plan);
    return subject_ ? scenarios::Result<Manifest>(*subject_) : usual_subject(plan);
}

scenarios::Result<void> LocalRunner::check_plan(const scenarios::Plan& plan) {
    if (auto launcher = check_launcher(plan); !launcher) return launcher;
    const auto manifest = subject_of(plan);
    if (!manifest) return tl::unexpected(manifest.error());
    const auto subject = subject_for(plan, *manifest, {});
    if (!subject) return tl::unexpected(subject.error());
    if (auto whole = check_plan_applies(plan, *manifest); !whole) return whole;
    const auto scratch = Scratch::make({}, {});
    if (!scratch) return tl::unexpected(scratch.error());
    LocalLevers levers = levers_for(plan, *manifest, *scratch);
    const auto arming = arm(plan, *subject, scratch->path(), levers);
    if (!arming) return tl::unexpected(arming.error());
    return {};
}

bool LocalRunner::reads(const scenarios::Plan& plan, const std::string& setting) {
    const auto manifest = subject_of(plan);
    return manifest && takes_setting(*manifest, setting, plan.workload.at(setting));
}

scenarios::Result<Record> LocalRunner::play(const scenarios::Plan& plan, const RunOptions& options) {
    if (auto launcher = check_launcher(plan); !launcher) return tl::unexpected(launcher.error());
    const auto home = local_home();
    if (!home) return tl::unexpected(home.error());
    const auto manifest = subject_of(plan);
    if (!manifest) return tl::unexpected(manifest.error());
    const auto python = python_for(*manifest);
    if (!python) return tl::unexpected(python.error());
    const auto made = Scratch::make(options.directory, {"evidence", "truth", "logs", "checkpoints", "tmp"});
    if (!made) return tl::unexpected(made.error());
    const Scratch& scratch = *made;
    Record record;
    record.notes.push_back(describe_program(plan, *manifest, *python));
    const std::int64_t timeout = timeout_of(plan, *manifest, record);
    const fs::path checkpoints = scratch.path() / "checkpoints";
    const auto subject =
        subject_for(plan, *manifest, {checkpoints, python->program.string(), results::Time(timeout)});
    if (!subject) return tl::unexpected(subject.error());
    const bool theirs = is_user_program(*manifest, *home) && !plays_a_release(plan);
    LocalLevers levers = levers_for(plan, *manifest, scratch);
    const auto arming = arm(plan, *subject, checkpoints, levers);
    if (!arming) return tl::unexpected(arming.error());
    if (auto written = results::write_text(arming->hook_plan, scratch.path() / "plan.json"); !written)
        return tl::unexpected(written.error());

    const auto temporary = temporary_of(scratch);
    if (!temporary) return tl::unexpected(temporary.error());
    JobPlace place{.directory = scratch.path(),
                   .temporary = (*temporary ? (*temporary)->path() : scratch.path()) / "tmp",
                   .hook = *home / "hook",
                   .port = TakenPort::any_free(),
                   .preload = preloaded(levers, theirs)};
    const auto around = set_up_surroundings(levers, place.port);
    if (!around) return tl::unexpected(around.error());
    put_job_into(*around, levers, place, record);
    std::optional<Guard> guard;
    if (theirs) {
        auto begun = Guard::begin(manifest->directory, options.stop);
        if (!begun) return tl::unexpected(begun.error());
        guard.emplace(std::move(*begun));
        place.kept = guard->directory();
    }
    LaunchSpec spec = launch_spec(plan, *manifest, results::Time(timeout));
    spec.children = children_of(plan, *manifest, *subject, *python, place);
    if (around->network) put_into(*around->network, levers, spec.children);
    spec.directory = scratch.path();
    if (*temporary) spec.temporary = place.temporary;
    spec.stop = options.stop;
    const auto launched = launch(spec);
    if (guard) {
        if (auto given = give_back_to(*guard, record); !given) return tl::unexpected(given.error());
    }
    if (!launched) return tl::unexpected(launched.error());
    const Harvest harvest{plan,          *launched, *arming, levers, *manifest, results::Time(timeout),
                          scratch.path()};
    return conclude(harvest, spec, std::move(record));
}

}  // namespace deadrank::runners
