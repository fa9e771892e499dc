// runners/backends/gpu_rank/agent.cpp — torchrun polls its children every five seconds of job time, mpirun
// notices an exit at once, and ranks started by hand have no launcher that watches. Texts:
// sim/machine/launcher.h.
#include "runners/backends/gpu_rank/agent.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <deque>
#include <fmt/format.h>
#include <map>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "runners/backends/ranks/life.h"
#include "sim/machine/launcher.h"

namespace deadrank::runners {

using results::Rank;
using results::Time;

namespace {

constexpr Time look_interval{5'000'000'000}, grace{30'000'000'000};  // job time
constexpr std::chrono::milliseconds step{2};

class Agent {
public:
    Agent(const AgentJob& job, const std::function<int(Rank, const Keeper&)>& live)
        : job_(job), live_(live), started_(JobClock::real_now()) {}

    int run() {
        for (Rank rank = 0; rank < job_.ranks; ++rank) {
            const int agent = ::getpid();
            const int pid = ::fork();
            if (pid < 0) return complain(std::strerror(errno));
            if (pid == 0) {
                ::prctl(PR_SET_PDEATHSIG, SIGKILL);
                if (::getppid() != agent) return not_ours;
                return keep({job_.directory, rank, job_.ranks, false},
                            [&](const Keeper& keeper) { return live_(rank, keeper); });
            }
            keepers_[pid] = rank;
        }
        while (!keepers_.empty()) {
            reap(0);
            if (code_ != 0 && job_.launcher != scenarios::LauncherKind::bare) return end_the_others();
        }
        return code_;
    }

private:
    // Waits for a child to exit; with WNOHANG, only checks.
    bool reap(int options) {
        int status = 0;
        const int pid = ::waitpid(-1, &status, options);
        if (pid <= 0) return pid < 0 && errno != EINTR ? (keepers_.clear(), false) : false;
        const auto found = keepers_.find(pid);
        if (found == keepers_.end()) return true;
        const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
        const int code = signal != 0 ? -signal : WEXITSTATUS(status);
        if (code != 0 && code_ == 0) code_ = signal != 0 ? 128 + signal : code;
        if (code != 0) {
            failed_.push_back(process(found->second, code, signal));
            seen_.push_back({&failed_.back(), Time{(JobClock::real_now() - started_) * JobClock::stretch}});
        }
        keepers_.erase(found);
        return true;
    }

    sim::Process process(Rank rank, int code, int signal) const {
        sim::Process process;
        process.id = rank;
        process.local = static_cast<int>(rank % job_.ranks_per_node);
        process.node = static_cast<int>(rank / job_.ranks_per_node);
        const auto pid = MeetingPlace(job_.directory / "meeting").get(fmt::format("pid {}", rank));
        process.pid = pid ? std::atoi(pid->c_str()) : 0;
        process.exit_code = code;
        process.exit_signal = signal;
        return process;
    }

    int end_the_others() {
        const sim::Process& first = failed_.front();
        const std::string host = fmt::format("node{}", first.node);
        if (job_.launcher == scenarios::LauncherKind::mpirun) {
            say(sim::mpirun_report(first, host));
            end_all();
            return sim::mpirun_code(first);
        }
        const std::int64_t interval = JobClock::real(look_interval).count();
        const std::int64_t since = JobClock::real_now() - started_;
        std::this_thread::sleep_for(std::chrono::nanoseconds(interval - since % interval));
        end_all();
        say(sim::torchrun_failed_line(first));
        say(sim::torchrun_report("train.py", seen_, host));
        return 1;
    }

    void end_all() {
        while (reap(WNOHANG)) continue;
        for (const auto& [pid, rank] : keepers_) ::kill(pid, SIGTERM);
        const std::int64_t until = JobClock::real_now() + JobClock::real(grace).count();
        while (!keepers_.empty() && JobClock::real_now() < until) {
            if (!reap(WNOHANG)) std::this_thread::sleep_for(step);
        }
        for (const auto& [pid, rank] : keepers_) ::kill(pid, SIGKILL);
        while (!keepers_.empty()) reap(0);
    }

    static void say(const std::string& words) { fmt::print(stderr, "{}\n", words); }

    const AgentJob& job_;
    const std::function<int(Rank, const Keeper&)>& live_;
    std::int64_t started_;
    std::map<int, Rank> keepers_;  // by pid
    int code_ = 0;                 // of the first that failed
    std::deque<sim::Process> failed_;
    std::vector<sim::SeenFailure> seen_;
};

}  // namespace

int lead(const AgentJob& job, const std::function<int(Rank, const Keeper&)>& live) {
    return Agent(job, live).run();
}

}  // namespace deadrank::runners
