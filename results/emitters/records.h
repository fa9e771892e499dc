// results/emitters/records.h — Records that programs keep of themselves: NCCL Inspector's of each collective,
// NVIDIA's resiliency extension's of each restart cycle.
#pragma once

#include "results/emitters/emitter_catalog.h"
#include "results/emitters/snapshot.h"

namespace deadrank::results::emitters {

// inspector/<host>-pid<pid>.log: one JSON object for each completed collective, format v4.0.
std::vector<EmittedFile> inspector_logs(const Evidence& evidence, const Snapshot& snapshot);

// nvrx/cycle_info.<job>.<attempt>.<cycle> for each life of the job, and the checkpoint-iteration file.
std::vector<EmittedFile> nvrx_cycles(const Evidence& evidence, const Snapshot& snapshot);

}  // namespace deadrank::results::emitters
