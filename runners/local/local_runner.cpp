// runners/local/local_runner.cpp — One run: a directory, settings for each rank, torchrun, and what was left
// afterwards.
#include "runners/local/local_runner.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <fstream>
#include <memory>
#include <unistd.h>

#include "runners/local/arming.h"
#include "runners/local/harvest.h"
#include "runners/local/home.h"
#include "runners/local/launch.h"
#include "runners/local/python.h"

extern char** environ;

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

// Somebody else has the port: bound for the length of a run. A mute one listens and never answers.
class TakenPort {
public:
    TakenPort(int port, bool mute) : descriptor_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_ANY);
        address.sin_port = htons(static_cast<std::uint16_t>(port));
        taken_ = bind(descriptor_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
        if (mute) taken_ = taken_ && listen(descriptor_, 64) == 0;
    }
    ~TakenPort() { close(descriptor_); }
    TakenPort(const TakenPort&) = delete;
    TakenPort& operator=(const TakenPort&) = delete;
    bool taken() const { return taken_; }

private:
    int descriptor_;
    bool taken_ = false;
};

std::int64_t timeout_of(const scenarios::Plan& plan, Record& record) {
    const auto stated = plan.cluster.find("collective_timeout");
    if (stated == plan.cluster.end()) return played_timeout;
    if (stated->second.number > 0 && stated->second.number <= longest_timeout) return stated->second.number;
    record.notes.push_back(
        fmt::format("the collective time-out of {} is played as 10s", scenarios::value_text(stated->second)));
    return played_timeout;
}

std::int64_t cluster_number(const scenarios::Plan& plan, const std::string& name, std::int64_t otherwise) {
    const auto found = plan.cluster.find(name);
    return found == plan.cluster.end() ? otherwise : found->second.number;
}

// Our own variables are hidden from the job's environment, except what the hook needs; the job's own come
// from the plan.
std::vector<std::string> environment_of(const scenarios::Plan& plan, const fs::path& directory,
                                        const fs::path& hook) {
    std::map<std::string, std::string> job;
    for (char** entry = environ; *entry; ++entry) {
        const std::string_view text(*entry);
        const std::size_t equals = text.find('=');
        if (equals == std::string_view::npos || text.starts_with("DEADRANK_")) continue;
        job[std::string(text.substr(0, equals))] = text.substr(equals + 1);
    }
    for (const char* name :
         {"RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT", "PYTHONHOME", "PYTHONSTARTUP"}) {
        job.erase(name);
    }
    const auto stated = plan.cluster.find("environment");
    job["OMP_NUM_THREADS"] = "1";
    job["CUDA_VISIBLE_DEVICES"] = "";
    job["PYTHONUNBUFFERED"] = "1";
    job["PYTHONDONTWRITEBYTECODE"] = "1";
    job["GLOO_SOCKET_IFNAME"] = "lo";
    if (cluster_number(plan, "debug_detail", 0)) job["TORCH_DISTRIBUTED_DEBUG"] = "DETAIL";
    if (stated != plan.cluster.end()) {
        for (const auto& [name, value] : stated->second.table) job[name] = value;
    }
    job["PYTHONPATH"] = hook.string() + (job["PYTHONPATH"].empty() ? "" : ":" + job["PYTHONPATH"]);
    job["DEADRANK_EVIDENCE"] = (directory / "evidence").string();
    job["DEADRANK_PLAN"] = (directory / "plan.json").string();
    job["DEADRANK_STARTED"] = std::to_string(now());
    std::vector<std::string> list;
    for (const auto& [name, value] : job) list.push_back(fmt::format("{}={}", name, value));
    return list;
}

std::vector<std::string> torchrun(const Python& python, const scenarios::Plan& plan, int port,
                                  const fs::path& directory, const Subject& subject) {
    std::vector<std::string> command = {
        python.program.string(),
        "-m",
        "torch.distributed.run",
        "--nproc_per_node",
        std::to_string(plan.world_size()),
        "--master_addr",
        "127.0.0.1",
        "--master_port",
        std::to_string(port),
        "--max_restarts",
        std::to_string(cluster_number(plan, "restarts_max", 0)),
        "--log_dir",
        (directory / "logs").string(),
    };
    // torch 1.13 cannot read "3" under Python 3.11; both together mean the same.
    if (python.major() >= 2)
        command.insert(command.end(), {"--redirects", "3"});
    else
        command.insert(command.end(), {"--redirects", "2", "--tee", "1"});
    command.insert(command.end(), subject.arguments.begin(), subject.arguments.end());
    return command;
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
    const auto home = local_home();
    if (!home) return tl::unexpected(home.error());
    const auto python = best_python();
    if (!python) return tl::unexpected(python.error());
    const Scratch scratch(options.directory);
    if (scratch.failed()) {
        return refuse(
            ErrorCode::io,
            fmt::format("'{}' cannot be written: {}", scratch.path().string(), scratch.failed().message()),
            "choose another directory with --out");
    }
    Record record;
    record.notes.push_back(fmt::format("real processes: {}, gloo, torchrun", python->text()));
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

    const int port = free_port();
    std::unique_ptr<TakenPort> taken;
    if (levers.port_taken()) {
        taken = std::make_unique<TakenPort>(port, levers.port_mute());
        if (!taken->taken())
            return refuse(ErrorCode::io, fmt::format("port {} could not be taken", port), "run it again");
    }
    LaunchSpec spec;
    spec.children.push_back({results::no_rank, torchrun(*python, plan, port, scratch.path(), *subject),
                             environment_of(plan, scratch.path(), *home / "hook")});
    spec.directory = scratch.path();
    spec.quiet = results::Time(timeout + patience);
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
