// runners/backends/ranks/gpu_reach.h — What the levers of a GPU job do not reach, in words.
#pragma once

#include "runners/backends/ranks/levers.h"

namespace deadrank::runners {

// `standin`: NCCL and CUDA are this project's own, for machines without GPUs.
inline Reach gpu_reach(bool standin) {
    return {.job = "a GPU job",
            .lacked = {{inject::ChangeLink::lever.name,
                        "its ranks are on one machine, and its network is the machine's own"},
                       {inject::TakePort::lever.name, "NCCL chooses those itself"},
                       {inject::ChangeDevice::fault.name, "nobody breaks a real device on purpose"}},
            .packages = "of its packages only NCCL tells the others its version",
            .claimed = "nccl",
            .variables = standin ? "the drop-in for NCCL reads none but NCCL_DEBUG and NCCL_HOSTID" : "",
            .understood = {"NCCL_DEBUG", "NCCL_HOSTID"}};
}

}  // namespace deadrank::runners
