// runners/backends/process/simulated_gpus.cpp — The stand-in's libraries in front of all others, and its
// operators on Python's path.
#include "runners/backends/process/simulated_gpus.h"

#include <cstdlib>
#include <fmt/format.h>

#include "runners/backends/process/scratch.h"

namespace deadrank::runners {

namespace fs = std::filesystem;

namespace {

// `first`, and what the variable holds already.
std::string in_front(const std::string& first, const char* name) {
    const char* others = std::getenv(name);
    return others && *others ? first + ":" + others : first;
}

}  // namespace

std::string SimulatedGpus::words() const {
    if (count == 0) return {};
    return fmt::format("--gpus {}{}", count, model == SimulatedGpus{}.model ? "" : " --gpu " + model);
}

std::int64_t memory_of(std::string_view model) {
    const std::int64_t mib = model == "h100" ? 81559 : model == "a100" ? 81920 : model == "b200" ? 183359 : 0;
    return mib << 20;  // as inject/standin/device/gpu_model.h has it, which a test compares
}

scenarios::Result<std::map<std::string, std::string>> variables_of(const SimulatedGpus& gpus) {
    const fs::path libraries = standin_libraries();
    if (libraries.empty())
        return scenarios::refuse(
            scenarios::ErrorCode::environment,
            "the libraries of simulated GPUs were not found near the program",
            "build the target deadrank_standin, which needs the headers of CUDA 13 and NCCL");
    const auto home = local_home();
    if (!home) return tl::unexpected(home.error());
    const fs::path operators =
        home->parent_path().parent_path().parent_path() / "inject" / "standin" / "operators" / "python";
    std::string preload;
    // Torch's own search path leads to NVIDIA's libraries, so these are loaded before any is looked for. Of
    // the two runtimes each torch finds the one that it was linked to, since their symbols have versions.
    for (const char* name :
         {"libcudart.so.13", "libcudart.so.12", "libnccl.so.2", "libcuda.so.1", "libnvidia-ml.so.1"})
        preload += (preload.empty() ? "" : ":") + (libraries / name).string();
    return std::map<std::string, std::string>{
        {"LD_LIBRARY_PATH", in_front(libraries.string(), "LD_LIBRARY_PATH")},
        {"LD_PRELOAD", in_front(preload, "LD_PRELOAD")},
        {"PYTHONPATH", in_front(operators.string(), "PYTHONPATH")},
        {"DEADRANK_STANDIN_DEVICES", std::to_string(gpus.count)},
        {"DEADRANK_STANDIN_GPU", gpus.model},
        {"TRITON_INTERPRET", "1"},  // deadrank_operators/triton_interpreter.py
    };
}

}  // namespace deadrank::runners
