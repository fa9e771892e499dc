// runners/backends/local/local_job.cpp — A program under test as processes: started by torchrun or by mpirun,
// watched and ended.
#include "runners/backends/local/local_job.h"

#include <fmt/format.h>
#include <map>
#include <unistd.h>

#include "runners/backends/local/local_runner.h"
#include "runners/backends/local/namespaces.h"
#include "runners/backends/process/mpirun.h"
#include "runners/backends/process/scratch.h"

extern char** environ;

namespace deadrank::runners {

// ── Does what a shell script around a training job would do, without a shell.

namespace {

using Variables = std::map<std::string, std::string>;

// torchrun's own default interval between checks of its ranks, kept unless a plan states another.
constexpr std::int64_t usual_monitor_interval = 5'000'000'000;

constexpr const char* names_of_ranks[] = {"RANK",       "WORLD_SIZE",  "LOCAL_RANK",
                                          "GROUP_RANK", "MASTER_ADDR", "MASTER_PORT"};

// The user's environment, without variables that would steer a job, and with those that keep it small and on
// this machine.
Variables shared_by_all(const scenarios::Plan& plan, const Manifest& manifest, const JobPlace& place) {
    Variables job;
    for (char** entry = environ; *entry; ++entry) {
        const std::string_view text(*entry);
        const std::size_t equals = text.find('=');
        if (equals == std::string_view::npos || text.starts_with("DEADRANK_")) continue;
        job[std::string(text.substr(0, equals))] = text.substr(equals + 1);
    }
    for (const char* name : names_of_ranks) job.erase(name);
    for (const char* name : {"PYTHONHOME", "PYTHONSTARTUP"}) job.erase(name);
    job["OMP_NUM_THREADS"] = "1";
    if (manifest.starts != Starts::itself) job["CUDA_VISIBLE_DEVICES"] = "";  // ours train on the processor
    job["PYTHONUNBUFFERED"] = "1";
    job["PYTHONDONTWRITEBYTECODE"] = "1";
    if (!place.network.empty()) {
        job["DEADRANK_NETWORK"] = place.network;
        job["GLOO_SOCKET_IFNAME"] = Namespaces::interface;
    }
    job["TMPDIR"] = job["DEADRANK_TEMPORARY"] = place.temporary.string();
    for (const auto& [name, value] : manifest.environment) job[name] = value;
    if (scenarios::cluster_choice<scenarios::DebugLevel>(plan, "debug") == scenarios::DebugLevel::detail)
        job["TORCH_DISTRIBUTED_DEBUG"] = "DETAIL";
    if (const auto stated = plan.cluster.find("environment"); stated != plan.cluster.end()) {
        for (const auto& [name, value] : stated->second.table) job[name] = value;
    }
    const std::string before = job["PYTHONPATH"];
    if (manifest.hook) job["PYTHONPATH"] = place.hook.string() + (before.empty() ? "" : ":" + before);
    if (!place.preload.empty()) {
        const std::string others = job["LD_PRELOAD"];
        job["LD_PRELOAD"] = place.preload + (others.empty() ? "" : ":" + others);
    }
    job["DEADRANK_FILES"] = "told";  // by the hook, which reads the plan
    job["DEADRANK_EVIDENCE"] = (place.directory / "evidence").string();
    job["DEADRANK_PLAN"] = (place.directory / "plan.json").string();
    if (!place.kept.empty()) job["DEADRANK_KEPT"] = place.kept.string();
    if (!place.store.empty()) job["DEADRANK_STORE"] = place.store;
    job["DEADRANK_STARTED"] = std::to_string(now());
    return job;
}

std::vector<std::string> lines(const Variables& variables) {
    std::vector<std::string> list;
    for (const auto& [name, value] : variables) list.push_back(fmt::format("{}={}", name, value));
    return list;
}

ChildSpec torchrun(const scenarios::Plan& plan, const Subject& subject, const Python& python,
                   const JobPlace& place, const Variables& shared) {
    ChildSpec child;
    Variables own = shared;
    // The agent's store outlives its ranks, so a restarted rank may read its peer's old address from it.
    // Unless the rendezvous is static, sharing that store can be turned off.
    own.try_emplace("TORCH_DISABLE_SHARE_RDZV_TCP_STORE", "1");
    child.environment = lines(own);
    child.command = {python.program.string(), "-m", "torch.distributed.run"};
    const auto add_option = [&](std::string name, std::string value) {
        child.command.push_back(std::move(name));
        child.command.push_back(std::move(value));
    };
    add_option("--nproc_per_node", std::to_string(plan.world_size()));
    const std::int64_t restarts = cluster_number(plan, "restarts_max", 0);
    if (restarts == 0) {
        add_option("--master_addr", place.address);
        add_option("--master_port", std::to_string(place.port));
    } else {
        add_option("--rdzv_backend", "c10d");
        add_option("--rdzv_endpoint", fmt::format("{}:{}", place.address, place.port));
        add_option("--rdzv_id", "deadrank");
        if (python.major() >= 2) add_option("--local_addr", place.address);
    }
    add_option("--max_restarts", std::to_string(restarts));
    const std::int64_t looks_every = cluster_number(plan, "monitor_interval", usual_monitor_interval);
    if (looks_every != usual_monitor_interval)
        add_option("--monitor_interval", fmt::format("{}", static_cast<double>(looks_every) / 1e9));
    add_option("--log_dir", (place.directory / "logs").string());
    if (python.major() >= 2) {
        add_option("--redirects", "3");
    } else {  // torch 1.13 cannot read "3" under Python 3.11; both together mean the same
        add_option("--redirects", "2");
        add_option("--tee", "1");
    }
    if (!subject.script) child.command.emplace_back("--no-python");
    child.command.insert(child.command.end(), subject.command.begin(), subject.command.end());
    if (plays_a_release(plan)) child.command = on_loopback_alone(std::move(child.command));
    return child;
}

// A command that starts its own ranks. torchrun takes options that it was not given from the environment, so
// each rank's output goes to its own file here as well.
ChildSpec by_itself(const Subject& subject, const Python& python, const JobPlace& place, Variables shared) {
    if (!python.program.empty())  // so that `torchrun` is the one of that Python
        shared["PATH"] = python.program.parent_path().string() + ":" + shared["PATH"];
    shared["PET_LOG_DIR"] = (place.directory / "logs").string();
    if (python.major() >= 2) shared["PET_REDIRECTS"] = "3";
    return {.rank = results::no_rank, .command = subject.command, .environment = lines(shared)};
}

ChildSpec bare_rank(results::Rank rank, std::int64_t ranks, const Subject& subject, const Python& python,
                    const JobPlace& place, Variables shared) {
    shared["RANK"] = shared["LOCAL_RANK"] = shared["DEADRANK_RANK"] = std::to_string(rank);
    shared["WORLD_SIZE"] = shared["LOCAL_WORLD_SIZE"] = std::to_string(ranks);
    shared["MASTER_ADDR"] = place.address;
    shared["MASTER_PORT"] = std::to_string(place.port);
    ChildSpec child{.rank = rank, .command = {}, .environment = lines(shared)};
    if (subject.script) child.command.push_back(python.program.string());
    child.command.insert(child.command.end(), subject.command.begin(), subject.command.end());
    return child;
}

}  // namespace

std::vector<ChildSpec> children_of(const scenarios::Plan& plan, const Manifest& manifest,
                                   const Subject& subject, const Python& python, const JobPlace& place) {
    Variables shared = shared_by_all(plan, manifest, place);
    if (manifest.starts == Starts::itself) return {by_itself(subject, python, place, std::move(shared))};
    if (launcher_of(plan) != scenarios::LauncherKind::bare)
        return {torchrun(plan, subject, python, place, shared)};
    std::vector<ChildSpec> children;
    for (std::int64_t rank = 0; rank < plan.world_size(); ++rank) {
        children.push_back(
            bare_rank(static_cast<results::Rank>(rank), plan.world_size(), subject, python, place, shared));
    }
    return children;
}

// ── The MPI runner for a user's program: only mpirun's settings are special, the rest is as for any command
// that starts its own ranks.

using scenarios::ErrorCode;
using scenarios::refuse;

namespace {

// Of an MPI program only the calls are seen.
scenarios::Result<void> shows_the_moments(const scenarios::Plan& plan) {
    for (const scenarios::FaultSpec& fault : plan.faults) {
        const scenarios::Trigger& when = fault.when;
        if (when.step < 0 && when.until_step < 0 && when.phase.empty()) continue;
        return refuse(
            ErrorCode::unsupported,
            fmt::format("{} waits for a step or a phase, which an MPI program does not show", fault.kind),
            "name a call, as in when = { before = \"all_reduce\", nth = 3 }");
    }
    return {};
}

Manifest started_by(const std::filesystem::path& mpirun, const std::filesystem::path& library,
                    const std::vector<std::string>& command) {
    Manifest manifest = typed_subject(command);
    const MpiJob job{mpirun, {}, "{checkpoints}", 1, false};
    manifest.command = mpirun_words(job);
    const std::string preload = library.string() + ":" + files_shim().string();  // else no guard
    manifest.command.insert(manifest.command.end(), {"-np", "{ranks}", "-x", "LD_PRELOAD=" + preload});
    manifest.command.insert(manifest.command.end(), command.begin(), command.end());
    manifest.environment["OMPI_ALLOW_RUN_AS_ROOT"] = "1";
    manifest.environment["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1";
    manifest.hook = false;
    return manifest;
}

}  // namespace

scenarios::Capabilities MpiProgram::capabilities() const {
    return {.backend = "mpi",
            .levers = {"kill", "exit", "stop", "alter_call.answer", "alter_call.count", "alter_call.delay",
                       "alter_call.dtype", "alter_call.flip", "alter_call.hang", "alter_call.hold",
                       "alter_call.root", "alter_call.skip"},
            .workloads = {"*"},
            .ranks_max = 16};
}

scenarios::Result<Record> MpiProgram::play(const scenarios::Plan& plan, const RunOptions& options) {
    if (const auto shown = shows_the_moments(plan); !shown) return tl::unexpected(shown.error());
    const auto mpirun = mpirun_program();
    if (!mpirun) return tl::unexpected(mpirun.error());
    const auto library = mpi_shim();
    if (library.empty())
        return refuse(ErrorCode::unsupported, "libdeadrank-mpi.so is not beside this program",
                      "install Open MPI (Debian: libopenmpi-dev) and build again, without a sanitizer");
    scenarios::Plan played = plan;
    played.cluster.erase("launcher");  // always mpirun here
    return LocalRunner(started_by(*mpirun, library, command_)).run(played, options);
}

}  // namespace deadrank::runners
