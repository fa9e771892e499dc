// runners/backends/gpu/gpu_runner.cpp — Starts the ranks without mpirun or torchrun; everything else is as
// for other real ranks.
#include "runners/backends/gpu/gpu_runner.h"

#include <cstdlib>
#include <fmt/format.h>

#include "runners/backends/gpu/gpu_machine.h"
#include "runners/backends/process/scratch.h"
#include "runners/backends/ranks/play.h"
#include "runners/backends/ranks/rank_levers.h"

namespace deadrank::runners {

namespace {

// CUDA and NCCL start slowly on a device that many ranks share.
constexpr std::chrono::seconds patience_with_a_gpu{15};

ChildSpec leader(const GpuMachine& machine, const scenarios::Plan& plan,
                 const std::filesystem::path& directory) {
    ChildSpec child;
    child.command = {machine.program.string(),
                     "lead",
                     directory.string(),
                     std::to_string(plan.world_size()),
                     std::to_string(cluster_number(plan, "gpus_per_node", plan.world_size())),
                     std::string(scenarios::enum_name(launcher_of(plan))),
                     machine.standin ? "standin" : "gpu"};
    child.environment = environment_of_ranks(directory, machine.libraries.empty()
                                                            ? std::vector<std::string>{}
                                                            : std::vector<std::string>{"LD_LIBRARY_PATH="});
    for (std::string& line : library_path(machine.libraries)) child.environment.push_back(std::move(line));
    if (const char* releases = std::getenv("DEADRANK_NCCL_PATH"))
        child.environment.push_back(fmt::format("DEADRANK_NCCL_PATH={}", releases));
    if (machine.standin) {
        child.environment.emplace_back("DEADRANK_STANDIN_DEVICES=16");  // one for each rank of any node
        child.environment.push_back(fmt::format("DEADRANK_SEED={}", plan.seed.number));
    }
    return child;
}

}  // namespace

scenarios::Capabilities GpuRunner::capabilities() const { return rank_capabilities("gpu", gpu_reach(false)); }

scenarios::Result<Record> GpuRunner::play(const scenarios::Plan& plan, const RunOptions& options) {
    const auto machine = find_gpus();
    if (!machine) return tl::unexpected(machine.error());
    const auto children = [&](const scenarios::Plan& played, const std::filesystem::path& directory) {
        return std::vector<ChildSpec>{leader(*machine, played, directory)};
    };
    return play_ranks(
        plan, options,
        {.reach = reach_of(*machine),
         .says = fmt::format("real processes: {} ranks over {}", plan.world_size(), machine->text()),
         .starter = "the leader of the job",
         .remedy = "see what `deadrank-gpu-rank probe` finds here",
         .children = children,
         .patience = machine->standin ? std::chrono::seconds(0) : patience_with_a_gpu});
}

}  // namespace deadrank::runners
