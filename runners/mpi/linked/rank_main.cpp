// runners/mpi/linked/rank_main.cpp — The program that mpirun starts: a keeper, and the rank as its child. The
// keeper sees how the rank ends, wakes it when it was stopped for a while, and where the plan has no launcher
// that watches, hides its death from mpirun.
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fmt/format.h>
#include <mpi.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "runners/mpi/hidden_plan.h"
#include "runners/mpi/linked/world.h"
#include "runners/sim/settings.h"
#include "sim/failure.h"
#include "sim/workloads/catalog.h"

namespace deadrank::runners {

namespace fs = std::filesystem;

namespace {

constexpr int not_ours = 70;  // what a mistake of ours exits with

int complain(const std::string& what) {
    fmt::print(stderr, "deadrank-mpi-rank: {}\n", what);
    return not_ours;
}

// The moment at which all had come is the job's beginning, for all of them.
JobClock agree_on_clock(const MeetingPlace& place) {
    MPI_Barrier(MPI_COMM_WORLD);
    place.claim("origin", std::to_string(JobClock::real_now()));
    return {std::atoll(place.get("origin").value_or("0").c_str())};
}

Keeper keeper_over(int pipe) {
    return {.resume_after = [pipe](results::Time after) {
        const std::int64_t real = after.count() < 0 ? -1 : JobClock::real(after).count();
        [[maybe_unused]] const auto told = ::write(pipe, &real, sizeof real);
        std::raise(SIGSTOP);
    }};
}

// Runs the workload. What it throws is the rank's own end.
int play(const scenarios::Plan& plan, const sim::ClusterSettings& settings, MpiWorld& world,
         Trail& evidence) {
    const auto failed = [&](std::string_view what, int code) {
        evidence.log(2, fmt::format("Traceback (most recent call last):\n{}", what));
        return code;
    };
    const sim::WorkloadKind* workload = sim::find_workload(plan.workload_kind);
    if (!workload) return complain(fmt::format("there is no workload '{}'", plan.workload_kind));
    if (world.processes() != settings.process_count())
        return complain("mpirun started another number of ranks");
    try {
        workload->body(world, sim::Settings(plan.workload));
        world.phase(results::Phase::none);
        return 0;
    } catch (const sim::RankFailure& failure) {
        return failed(failure.what(), failure.code);
    } catch (const sim::RankKilled& killed) {
        return 128 + killed.signal;
    } catch (const std::exception& error) {
        return failed(std::string("RuntimeError: ") + error.what(), 1);
    }
}

int live(const fs::path& directory, int pipe) {
    const auto plan = read_hidden_plan(directory / "plan.toml");
    if (!plan) return complain(plan.error().text());
    const auto settings = cluster_settings(plan->cluster);
    if (!settings) return complain(settings.error().text());
    MPI_Init(nullptr, nullptr);
    // Open MPI asks the world's handler, not the communicator's, when a collective under way fails.
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const JobClock clock = agree_on_clock(MeetingPlace(directory / "meeting"));
    Trail evidence(directory / "evidence" / fmt::format("rank{}.jsonl", rank), clock, rank);
    Trail truth(directory / "truth" / fmt::format("rank{}.jsonl", rank), clock, rank);
    auto gate = Gate::make(*plan, rank, evidence, truth, keeper_over(pipe));
    if (!gate) return complain(gate.error().text());
    MpiWorld world(*plan, *settings, **gate, evidence, directory, rank);
    world.show_start(getpid());
    const int code = play(*plan, *settings, world, evidence);
    if (code != 0) _exit(code);  // as a script that raised: nobody is told, and nothing is finalised
    MPI_Finalize();
    return 0;
}

// --- the keeper

volatile std::sig_atomic_t kept = 0;

// mpirun ends its job with SIGTERM. A rank that stands still must go on to die of it.
void pass_on(int) {
    if (kept <= 0) return;
    ::kill(kept, SIGTERM);
    ::kill(kept, SIGCONT);
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

void show_exit(const fs::path& directory, int status) {
    const char* number = std::getenv("OMPI_COMM_WORLD_RANK");
    const auto origin = MeetingPlace(directory / "meeting").get("origin");
    if (!number || !origin) return;  // it never began
    const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    Trail evidence(directory / "evidence" / fmt::format("exit{}.jsonl", number),
                   {std::atoll(origin->c_str())}, std::atoi(number));
    evidence.record(results::RankExit{signal ? -signal : WEXITSTATUS(status), signal});
}

// Nobody watches: mpirun hears of an end when all have ended.
void hide(const fs::path& directory) {
    const MeetingPlace place(directory / "meeting");
    const auto all = std::atoll(std::getenv("OMPI_COMM_WORLD_SIZE"));
    place.add("gone", 1);
    while (std::atoll(place.get("gone").value_or("0").c_str()) < all)
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

int keep(const fs::path& directory, bool bare) {
    int ends[2];
    if (::pipe(ends) != 0) return complain(std::strerror(errno));
    const int keeper = ::getpid();
    const int pid = ::fork();
    if (pid < 0) return complain(std::strerror(errno));
    if (pid == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (::getppid() != keeper) return not_ours;
        return live(directory, ends[1]);
    }
    kept = pid;
    std::signal(SIGTERM, pass_on);
    ::close(ends[1]);
    const int status = wait_for(pid, ends[0]);
    kept = 0;
    std::signal(SIGTERM, SIG_DFL);
    show_exit(directory, status);
    if (bare) hide(directory);
    if (!WIFSIGNALED(status)) return WEXITSTATUS(status);
    std::signal(WTERMSIG(status), SIG_DFL);
    std::raise(WTERMSIG(status));
    return 128 + WTERMSIG(status);
}

}  // namespace

}  // namespace deadrank::runners

int main(int argc, char** argv) {
    using namespace std::string_view_literals;
    if (argc < 2 || argv[1] == "--help"sv || !std::getenv("OMPI_COMM_WORLD_RANK")) {
        fmt::print(stderr,
                   "deadrank-mpi-rank DIRECTORY [bare]: one rank; `deadrank run --runner mpi` starts it\n");
        return 64;
    }
    rlimit none{0, 0};
    setrlimit(RLIMIT_CORE, &none);
    return deadrank::runners::keep(argv[1], argc > 2 && argv[2] == "bare"sv);
}
