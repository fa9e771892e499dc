// runners/backends/ranks/mpi_reach.h — What the levers of an MPI job do not reach, in words.
#pragma once

#include "runners/backends/ranks/levers.h"

namespace deadrank::runners {

inline Reach mpi_reach() {
    return {.job = "an MPI job",
            .links = "its ranks meet in shared memory",
            .ports = "mpirun chooses those itself",
            .devices = "there is none",
            .memory = "there is none",
            .packages = "all of its ranks are one program",
            .claimed = {},
            .variables = "Open MPI reads no variable of NCCL",
            .operations = "MPI would read beyond its buffers"};
}

}  // namespace deadrank::runners
