// runners/preflight/libraries.h — Which NCCL and which CUDA runtime the loader would give to this process,
// and their versions by their own words.
#pragma once

#include "results/preflight/snapshot.h"

namespace deadrank::runners {

// Honours the snapshot's LD_LIBRARY_PATH. Libraries are loaded in a child that is given ten seconds.
void read_library_versions(results::preflight::Snapshot& snapshot);

}  // namespace deadrank::runners
