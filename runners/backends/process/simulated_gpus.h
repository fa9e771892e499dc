// runners/backends/process/simulated_gpus.h — A machine of simulated GPUs for any program: CUDA and NCCL of
// inject/standin, whose operators torch's CPU kernels compute. The program needs no change.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "scenarios/model/error.h"

namespace deadrank::runners {

struct SimulatedGpus {
    int count = 0;  // 0: none
    std::string model = "h100";

    // The options that ask for them on a command line; empty for none.
    std::string words() const;
};

// Bytes of a device of that model. 0: there is none.
std::int64_t memory_of(std::string_view model);

inline constexpr const char* gpu_models[] = {"h100", "a100", "b200"};
inline constexpr int gpus_most = 120;  // as many as torch can count

// Variables of the program, each with what this process's own has of it behind. Errors: environment, if the
// stand-in was not built or installed.
scenarios::Result<std::map<std::string, std::string>> variables_of(const SimulatedGpus& gpus);

}  // namespace deadrank::runners
