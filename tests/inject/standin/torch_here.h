// tests/inject/standin/torch_here.h — Whether unmodified PyTorch can be run on the stand-in here, and with
// which Python.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace deadrank::tests {

inline const std::filesystem::path standin_libraries =
    std::filesystem::path(DEADRANK_BINARY_DIRECTORY) / "standin";

// What a program of torch loads first: of the two runtimes torch finds the one that it was linked to.
inline std::string preloaded_libraries() {
    std::string all;
    for (const char* name :
         {"libcudart.so.13", "libcudart.so.12", "libnccl.so.2", "libcuda.so.1", "libnvidia-ml.so.1"})
        all += (all.empty() ? "" : ":") + (standin_libraries / name).string();
    return all;
}

// On PYTHONPATH, it lets torch's operators of cuda tensors compute.
inline const std::filesystem::path operators =
    std::filesystem::path(DEADRANK_SOURCE_DIRECTORY) / "inject/standin/operators/python";

inline std::filesystem::path cache_of_deadrank() {
    const char* cache = std::getenv("XDG_CACHE_HOME");
    const char* home = std::getenv("HOME");
    return (cache ? std::filesystem::path(cache) : std::filesystem::path(home ? home : "") / ".cache") /
           "deadrank";
}

inline std::filesystem::path python_with_torch() {
    if (const char* said = std::getenv("DEADRANK_PYTHON")) return said;
    return cache_of_deadrank() / "venv/bin/python";
}

// A torch with CUDA in it, whose NCCL is a library of its own.
inline bool has_process_group(const std::filesystem::path& python) {
    std::error_code ignored;
    for (const auto& one :
         std::filesystem::directory_iterator(python.parent_path().parent_path() / "lib", ignored)) {
        if (std::filesystem::exists(one.path() / "site-packages/torch/lib/libtorch_cuda.so")) return true;
    }
    return false;
}

// Empty when all is there.
inline std::string why_no_torch() {
    if (!std::filesystem::exists(standin_libraries / "libnccl.so.2"))
        return "the stand-in is not built here: no headers of CUDA 13 and NCCL";
    const std::filesystem::path python = python_with_torch();
    return has_process_group(python)
               ? ""
               : "no torch with CUDA beside " + python.string() + ": './dev tools' with DEADRANK_TORCH=wheel";
}

// The files of another torch, for the same Python.
inline std::filesystem::path newer_torch() { return cache_of_deadrank() / "torch-2.15.0"; }

inline std::string why_no_newer_torch() {
    if (const std::string why = why_no_torch(); !why.empty()) return why;
    return std::filesystem::exists(newer_torch() / "torch/lib/libtorch_cuda.so")
               ? ""
               : "no torch 2.15 in " + newer_torch().string() + ": './dev tools --torch' installs it";
}

// The files of a torch that is linked to CUDA 12, with its CUDA libraries, for the same Python.
inline std::filesystem::path torch_of_cuda12() { return cache_of_deadrank() / "torch-2.8.0"; }

inline std::string why_no_torch_of_cuda12() {
    if (const std::string why = why_no_torch(); !why.empty()) return why;
    return std::filesystem::exists(torch_of_cuda12() / "torch/lib/libtorch_cuda.so")
               ? ""
               : "no torch 2.8 in " + torch_of_cuda12().string() +
                     ": 'pip install --target' that folder 'torch==2.8.0' (3 GB to fetch)";
}

}  // namespace deadrank::tests
