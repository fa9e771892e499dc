// results/payloads.h — All kinds of events, as one variant. A new kind is added at its end, so that old
// evidence still reads.
#pragma once

#include <variant>

#include "results/payloads/communication.h"
#include "results/payloads/job.h"
#include "results/payloads/machine.h"
#include "results/payloads/training.h"

namespace deadrank::results {

using Payload =
    std::variant<JobStart, JobStop, Restart, RankStart, RankConfig, RankExit, RankLog, PackageLoad,
                 TestResult, RendezvousEnter, RendezvousLeave, CommInitEnter, CommInitLeave, CommError,
                 CommAbort, CollectiveEnter, CollectiveLeave, P2pEnter, P2pLeave, StepBegin, StepEnd,
                 PhaseBegin, PhaseEnd, ParametersDigest, ValueSample, ShardLayout, DataBatch, DeviceBind,
                 ServeOutput, CheckpointSave, CheckpointLoad, MemorySample, MemoryOom, HostSample,
                 DeviceSample, DeviceError, LinkSample>;

}  // namespace deadrank::results
