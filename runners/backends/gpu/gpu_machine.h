// runners/backends/gpu/gpu_machine.h — What this machine offers a GPU job: GPUs, or, on request, the drop-in
// that needs none.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "runners/backends/ranks/rank_levers.h"
#include "scenarios/model/error.h"

namespace deadrank::runners {

// Requests the drop-in: 1, or the directory of its libraries.
inline constexpr const char* standin_variable = "DEADRANK_STANDIN";

struct GpuMachine {
    std::filesystem::path program;    // for the ranks
    std::filesystem::path libraries;  // of the drop-in, first in the search; empty = the loader's own search
    bool standin = false;
    std::string nccl, cuda;                     // versions
    bool claims_heard = true;                   // a rank can claim another release of NCCL
    std::vector<std::string> further_releases;  // of NCCL that a rank can load
    std::vector<std::string> devices;           // names

    // "NCCL 2.28.9 and CUDA 13.0 on 2 GPUs (NVIDIA H200)", or plainly that there is none.
    std::string text() const;
};

// What the levers of a job on this machine reach, and why they do not reach the rest.
Reach reach_of(const GpuMachine& machine);

// LD_LIBRARY_PATH for a child, with `first` in front; no variable if `first` is empty.
std::vector<std::string> library_path(const std::filesystem::path& first);

// Errors: unsupported (this build), environment (no GPU, no library).
scenarios::Result<GpuMachine> find_gpus();

}  // namespace deadrank::runners
