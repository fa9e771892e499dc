// sim/machine/packages.cpp — Imports in the order of a training script: broken ones as the fault describes
// them, then torch and what it binds.
#include "sim/machine/packages.h"

#include <fmt/format.h>

#include "sim/machine/machine.h"

namespace deadrank::sim {

namespace {

void refuse_package(Machine& machine, Process& process, std::string_view package, std::string_view problem,
                    results::Code code) {
    Recorder& recorder = machine.recorder;
    const std::string version = machine.environment.version(process, package);
    recorder.record(process.id, results::PackageLoad{recorder.text(package), recorder.text(version),
                                                     recorder.text(problem), code});
    // A problem that names its exception already is written as it stands.
    const auto colon = problem.find(": ");
    const std::string_view name = problem.substr(0, colon == std::string_view::npos ? 0 : colon);
    const bool named = name.ends_with("Error") || name.ends_with("Exception");
    throw RankFailure(named ? std::string(problem) : fmt::format("ImportError: {}", problem));
}

}  // namespace

void load_packages(Machine& machine, Process& process) {
    if (process.tampering && !process.tampering->broken_packages.empty()) {
        const auto& [package, problem] = process.tampering->broken_packages.front();
        refuse_package(machine, process, package, problem, results::Code::corrupt);
    }
    const bool uses_torch = machine.settings.versions.contains("torch");
    if (uses_torch && machine.environment.version(process, "torch").empty()) {
        refuse_package(machine, process, "torch", "ModuleNotFoundError: No module named 'torch'",
                       results::Code::not_found);
    }
    const bool uses_nccl = machine.settings.versions.contains("nccl");
    if (uses_nccl && machine.environment.version(process, "nccl").empty()) {
        refuse_package(machine, process, "nccl",
                       "libnccl.so.2: cannot open shared object file: No such file or directory",
                       results::Code::not_found);
    }
}

}  // namespace deadrank::sim
