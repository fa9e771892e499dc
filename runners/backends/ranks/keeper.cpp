// runners/backends/ranks/keeper.cpp — The process around a rank: signals pass through it in both directions.
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "runners/backends/ranks/life.h"

namespace deadrank::runners {

namespace fs = std::filesystem;

namespace {

Keeper keeper_over(int pipe) {
    return {.resume_after = [pipe](results::Time after) {
        const std::int64_t real = after.count() < 0 ? -1 : JobClock::real(after).count();
        [[maybe_unused]] const auto told = ::write(pipe, &real, sizeof real);
        std::raise(SIGSTOP);
    }};
}

volatile std::sig_atomic_t child = 0;

// Launchers end their jobs with SIGTERM. A stopped rank must be resumed to die of it.
void pass_on(int) {
    if (child <= 0) return;
    ::kill(child, SIGTERM);
    ::kill(child, SIGCONT);
}

void wake_when_due(int pid, int pipe) {
    std::int64_t after = -1;
    if (::read(pipe, &after, sizeof after) != sizeof after || after < 0) return;
    std::this_thread::sleep_for(std::chrono::nanoseconds(after));
    ::kill(pid, SIGCONT);
}

int wait_for(int pid, int pipe) {
    for (;;) {
        int status = 0;
        const int seen = ::waitpid(pid, &status, WUNTRACED);
        if (seen < 0 && errno == EINTR) continue;
        if (seen < 0) return not_ours << 8;
        if (!WIFSTOPPED(status)) return status;
        wake_when_due(pid, pipe);
    }
}

void show_exit(const Kept& kept, int status) {
    const auto origin = MeetingPlace(kept.directory / "meeting").get("origin");
    if (!origin) return;  // it never began
    const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    Trail evidence(kept.directory / "evidence" / fmt::format("exit{}.jsonl", kept.rank), kept.rank,
                   {std::atoll(origin->c_str())});
    evidence.record(results::RankExit{signal ? -signal : WEXITSTATUS(status), signal});
}

void hide(const Kept& kept) {
    const MeetingPlace place(kept.directory / "meeting");
    place.add("gone", 1);
    while (std::atoll(place.get("gone").value_or("0").c_str()) < kept.ranks)
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

}  // namespace

JobClock agree_on_clock(const fs::path& directory) {
    const MeetingPlace place(directory / "meeting");
    place.claim("origin", std::to_string(JobClock::real_now()));
    return {std::atoll(place.get("origin").value_or("0").c_str())};
}

int keep(const Kept& kept, const std::function<int(const Keeper&)>& live) {
    rlimit none{0, 0};
    setrlimit(RLIMIT_CORE, &none);
    int ends[2];
    if (::pipe(ends) != 0) return complain(std::strerror(errno));
    const int keeper = ::getpid();
    const int pid = ::fork();
    if (pid < 0) return complain(std::strerror(errno));
    if (pid == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (::getppid() != keeper) return not_ours;
        return live(keeper_over(ends[1]));
    }
    child = pid;
    std::signal(SIGTERM, pass_on);
    MeetingPlace(kept.directory / "meeting").set(fmt::format("pid {}", kept.rank), std::to_string(pid));
    ::close(ends[1]);
    const int status = wait_for(pid, ends[0]);
    child = 0;
    std::signal(SIGTERM, SIG_DFL);
    show_exit(kept, status);
    if (kept.bare) hide(kept);
    if (!WIFSIGNALED(status)) return WEXITSTATUS(status);
    std::signal(WTERMSIG(status), SIG_DFL);
    std::raise(WTERMSIG(status));
    return 128 + WTERMSIG(status);
}

}  // namespace deadrank::runners
