// inject/shims/core/rank.h — Which rank this process is: no plugin interface of NCCL says so before it is
// late.
#pragma once

#include "results/record/time.h"

namespace deadrank::inject::shims {

// From DEADRANK_RANK, RANK (torchrun), OMPI_COMM_WORLD_RANK (mpirun) or SLURM_PROCID, in this order; no_rank
// when none of them holds a number. Then a communicator says which rank is meant.
results::Rank rank_of_process();

}  // namespace deadrank::inject::shims
