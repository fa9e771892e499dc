// runners/backends/gpu_rank/gpu_rank_main.cpp — One program in three parts: it probes the machine, it leads a
// job, and each rank is a fork of the leader, made before CUDA is loaded.
#include <cstdlib>
#include <fmt/format.h>
#include <string_view>
#include <unistd.h>

#include "runners/backends/gpu_rank/agent.h"
#include "runners/backends/gpu_rank/nccl_library.h"
#include "runners/backends/ranks/life.h"
#include "runners/backends/ranks/rank_levers.h"

namespace deadrank::runners {

namespace {

// The job's clock begins when all ranks have arrived.
JobClock meet(const AgentJob& job) {
    const MeetingPlace place(job.directory / "meeting");
    place.add("came", 1);
    while (std::atoll(place.get("came").value_or("0").c_str()) < job.ranks) ::usleep(500);
    return agree_on_clock(job.directory);
}

int run_gpu_rank(const AgentJob& job, bool standin, results::Rank rank, const Keeper& keeper) {
    NcclLibrary library(rank, job.directory);
    const Reach reach = gpu_reach(standin);
    const int code = live({job.directory, rank, [&] { return meet(job); }, keeper, reach, library});
    if (code == 0) library.close();
    std::fflush(nullptr);
    _exit(code);  // NCCL's threads may still be running
}

}  // namespace

}  // namespace deadrank::runners

int main(int argc, char** argv) {
    using namespace deadrank::runners;
    const std::string_view part = argc > 1 ? argv[1] : "";
    if (part == "probe") return probe();
    if (part == "kernels") return check_kernels();
    if (part == "lead" && argc == 7) {
        const auto launcher = deadrank::scenarios::read_word<deadrank::scenarios::LauncherKind>(argv[5]);
        if (!launcher) return 64;
        const AgentJob job{argv[2], std::atoi(argv[3]), std::atoi(argv[4]), *launcher};
        const bool standin = argv[6] == std::string_view("standin");
        return lead(job, [&](deadrank::results::Rank rank, const Keeper& keeper) {
            return run_gpu_rank(job, standin, rank, keeper);
        });
    }
    fmt::print(stderr,
               "deadrank-gpu-rank probe     what a job would find here\n"
               "deadrank-gpu-rank kernels   whether our kernels compute what they should here\n"
               "deadrank-gpu-rank lead DIRECTORY RANKS RANKS_PER_NODE LAUNCHER gpu|standin\n"
               "`deadrank run --runner gpu` starts it\n");
    return part == "--help" ? 0 : 64;
}
