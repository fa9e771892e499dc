// results/record/payloads.h — All kinds of events, as one variant. A new kind is added at its end, so that
// old evidence still reads.
#pragma once

#include <variant>

#include "results/record/payloads_communication.h"
#include "results/record/payloads_job.h"
#include "results/record/payloads_machine.h"
#include "results/record/payloads_training.h"

namespace deadrank::results {

using Payload =
    std::variant<JobStart, JobStop, Restart, RankStart, RankConfig, RankExit, RankLog, PackageLoad,
                 TestResult, RendezvousEnter, RendezvousLeave, CommInitEnter, CommInitLeave, CommError,
                 CommAbort, CollectiveEnter, CollectiveLeave, P2pEnter, P2pLeave, StepBegin, StepEnd,
                 PhaseBegin, PhaseEnd, ParametersDigest, ValueSample, ShardLayout, DataBatch, DeviceBind,
                 ServeOutput, CheckpointSave, CheckpointLoad, MemorySample, MemoryOom, HostSample,
                 DeviceSample, DeviceError, LinkSample, EvidenceLost>;

}  // namespace deadrank::results
