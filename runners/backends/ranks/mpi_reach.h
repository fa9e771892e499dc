// runners/backends/ranks/mpi_reach.h — What the levers of an MPI job do not reach, in words.
#pragma once

#include "runners/backends/ranks/levers.h"

namespace deadrank::runners {

inline Reach mpi_reach() {
    return {.job = "an MPI job",
            .lacked = {{inject::ChangeLink::lever.name, "its ranks meet in shared memory"},
                       {inject::TakePort::lever.name, "mpirun chooses those itself"},
                       {inject::ChangeDevice::fault.name, "there is none"},
                       {inject::ChangeDevice::leak.name, "there is none"},
                       {inject::ChangeDevice::memory.name, "there is none"},
                       {inject::AlterCall::operation.name, "MPI would read beyond its buffers"}},
            .packages = "all of its ranks are one program",
            .claimed = {},
            .variables = "Open MPI reads no variable of NCCL"};
}

}  // namespace deadrank::runners
