// runners/backends/sim/job_copies.cpp — Copies of a managed job, each with files of its own.
#include "runners/backends/sim/job_copies.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include "runners/backends/process/private_files.h"

namespace deadrank::runners {

using inject::Passage;
using results::Record;
using scenarios::ErrorCode;
using scenarios::refuse;
using scenarios::Result;
using sim::managed::HostTrouble;

namespace {

using Fork = std::function<pid_t()>;

// The pid, 0 in the copy, or why there is none. `is_copy` becomes true in the copy before anything can fail there.
tl::expected<pid_t, std::string> copy_job(sim::managed::ManagedJob& job, const PrivateLayers& layers,
                                          const Fork& fork, bool& is_copy) {
    const auto fork_and_note = [&] {
        const pid_t pid = fork();
        is_copy = pid == 0;
        return pid;
    };
    auto pid = job.copy(fork_and_note, [&] {
        const auto made = make_files_private(layers.directories, layers.memory);
        if (!made) throw HostTrouble(made.error().what, made.error().remedy);
    });
    if (pid && *pid < 0) return tl::unexpected(std::string("this machine starts no further process"));
    return pid;
}

// Until the last process that has it is gone. Throws HostTrouble.
sim::managed::Descriptor locked(const std::filesystem::path& file) {
    sim::managed::Descriptor lock(::open(file.c_str(), O_RDONLY | O_CREAT | O_CLOEXEC, 0600));
    if (!lock || ::flock(lock.get(), LOCK_SH) != 0)
        throw HostTrouble(fmt::format("cannot lock '{}': {}", file.string(), std::strerror(errno)),
                          "free space in the directory for temporary files");
    return lock;
}

// What is thrown in the process that the run began in is for its caller; a copy has none.
void attempt(const std::function<Result<Record>()>& simulation, const bool& is_copy, Result<Record>& record) {
    try {
        record = simulation();
    } catch (const HostTrouble& trouble) {
        record = refuse(ErrorCode::environment, trouble.what(), trouble.help);
    } catch (const std::exception& thrown) {
        if (!is_copy) throw;
        record = scenarios::is_host_failure(thrown) ? tl::unexpected(scenarios::host_error(thrown))
                                                    : refuse(ErrorCode::internal, thrown.what());
    }
}

}  // namespace

Passage BranchingRun::decide_passage(std::size_t fault) {
    if (is_copy_) return Passage::act;
    auto lock = locked(layers_.lock);
    const auto pid = copy_job(job_, layers_, [&] { return branches_.fork(fault); }, is_copy_);
    if (!pid) branches_.leave_out(fault, pid.error());
    if (is_copy_) lock_ = std::move(lock);
    return is_copy_ ? Passage::act_without_others : Passage::pass;
}

void BranchingRun::play(const std::function<Result<Record>()>& simulation, Result<Record>& record) {
    attempt(simulation, is_copy_, record);
    if (!is_copy_) return;
    job_.finish();
    if (record && !job_.trouble()) attempt([&]() -> Result<Record> { return at_end_(*record), std::move(*record); }, is_copy_, record);
    if (job_.trouble()) record = refuse(ErrorCode::environment, job_.trouble()->what(), job_.trouble()->help);
    branches_.finish(std::move(record));
}

void BranchingRun::play_each(const scenarios::Plan& plan, const PlayPlan& simulation, Result<Record>& record) {
    for (std::size_t i = 0; i < plan.faults.size(); ++i) {
        scenarios::Plan one = plan;
        one.faults = {plan.faults[i]};
        play([&] { return decide_passage(i) == Passage::pass ? Record() : simulation(one); }, record);
    }
}

DebuggedRun::DebuggedRun(sim::managed::ManagedJob& job, PrivateLayers layers, const scenarios::Plan& plan,
                         const std::atomic<bool>* stop)
    : job_(job),
      layers_(std::move(layers)),
      moment_(plan.faults.size() - 1),
      rank_(static_cast<results::Rank>(plan.faults.back().ranks().front())),
      copies_(1, stop, [this](std::size_t, const std::string& text) { back_ = text == "back"; }) {}

Passage DebuggedRun::decide_passage(std::size_t fault) {
    if (fault != moment_) return Passage::act;
    do {
        back_ = false;
        const auto pid = copy_job(job_, layers_, [&] { return copies_.fork(0); }, is_copy_);
        if (!pid || is_copy_) {
            job_.open_debugger(rank_, pid ? "" : pid.error(), [this] { copies_.answer("back"); });
            break;
        }
        copies_.wait();
    } while (back_);
    return Passage::pass;
}

void DebuggedRun::play(const std::function<Result<Record>()>& simulation, Result<Record>& record) {
    attempt(simulation, is_copy_, record);
    if (!is_copy_) return;
    job_.finish();
    copies_.answer("ended");
}

}  // namespace deadrank::runners
