// runners/backends/gpu/gpu_machine.cpp — The ranks' program looks for GPUs in its own process, so that
// deadrank loads nothing of CUDA.
#include "runners/backends/gpu/gpu_machine.h"

#include <cstdlib>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "results/processes/bounded.h"
#include "runners/backends/process/scratch.h"
#include "runners/backends/ranks/rank_levers.h"

namespace deadrank::runners {

namespace fs = std::filesystem;
using scenarios::ErrorCode;
using scenarios::refuse;
using scenarios::Result;

namespace {

constexpr const char* remedy =
    "DEADRANK_STANDIN=1 plays it on this project's own NCCL and CUDA, which need no GPU";

// Empty if the drop-in was not requested.
Result<fs::path> standin_directory() {
    const char* said = std::getenv(standin_variable);
    const std::string asked = said ? said : "";
    if (asked.empty() || asked == "0") return fs::path();
    const fs::path directory = asked == "1" ? standin_libraries() : fs::path(asked);
    std::error_code ignored;
    if (!directory.empty() && fs::exists(directory / "libnccl.so.2", ignored)) return fs::absolute(directory);
    if (asked != "1") {
        return refuse(ErrorCode::environment,
                      fmt::format("{}={}: there is no libnccl.so.2", standin_variable, asked),
                      "1, or the directory of the drop-in's libraries");
    }
    return refuse(ErrorCode::unsupported, "this build has no drop-in for NCCL",
                  "configure it where CUDA 13's and NCCL's headers are (CUDA_HOME, NCCL_HOME)");
}

Result<GpuMachine> understood(const std::string& said, GpuMachine machine) {
    const auto found = nlohmann::json::parse(said, nullptr, false);
    if (!found.is_object())
        return refuse(ErrorCode::environment, "the ranks' program could not look for GPUs: " + said, remedy);
    const std::string why = found.value("why", "");
    machine.devices = found.value("devices", std::vector<std::string>());
    if (machine.devices.empty())
        return refuse(ErrorCode::environment, "there is no GPU that a job could use here: " + why, remedy);
    machine.standin = found.value("standin", false);
    machine.nccl = found.value("nccl", "");
    machine.cuda = found.value("cuda", "");
    machine.claims_heard = found.value("claims_heard", true);
    const auto releases = found.find("further_releases");
    if (releases != found.end()) {
        for (const auto& release : releases->items()) machine.further_releases.push_back(release.key());
    }
    return machine;
}

}  // namespace

std::string GpuMachine::text() const {
    if (standin) return fmt::format("the drop-in for NCCL {} and CUDA {}, without a GPU", nccl, cuda);
    return fmt::format("NCCL {} and CUDA {} on {} GPU{} ({})", nccl, cuda, devices.size(),
                       devices.size() == 1 ? "" : "s", devices.front());
}

Result<GpuMachine> find_gpus() {
    GpuMachine machine;
    machine.program = program_beside("deadrank-gpu-rank");
    if (machine.program.empty()) {
        return refuse(ErrorCode::unsupported, "this build has no program for the ranks of a GPU job",
                      "configure it with DEADRANK_GPU=AUTO and build again");
    }
    const auto standin = standin_directory();
    if (!standin) return tl::unexpected(standin.error());
    machine.libraries = *standin;
    const auto answer = results::processes::run_bounded({machine.program.string(), "probe"},
                                                        results::processes::Bounds::none(), {},
                                                        library_path(machine.libraries));
    if (!answer) return tl::unexpected(answer.error());
    return understood(answer->out, machine);
}

Reach reach_of(const GpuMachine& machine) {
    Reach reach = gpu_reach(machine.standin);
    if (!machine.claims_heard) {
        reach.claim_obstacle =
            "since 2.30 NCCL tells its peers what it was built as, and no directory of "
            "DEADRANK_NCCL_PATH has that release";
        reach.releases = machine.further_releases;
    }
    return reach;
}

std::vector<std::string> library_path(const fs::path& first) {
    if (first.empty()) return {};
    const char* own = std::getenv("LD_LIBRARY_PATH");
    const std::string rest = own && *own ? fmt::format(":{}", own) : "";
    return {fmt::format("LD_LIBRARY_PATH={}{}", first.string(), rest)};
}

}  // namespace deadrank::runners
