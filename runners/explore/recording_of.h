// runners/explore/recording_of.h — What the evidence of a healthy run becomes as a workload of the simulator.
#pragma once

#include "results/record/evidence.h"
#include "sim/workloads/recording.h"

namespace deadrank::runners {

struct RecordedJob {
    sim::Recording recording;
    int nodes = 1;
};

// Errors: bad_input, where the job was restarted, a rank failed or made no step, or ranks ended different
// numbers of steps.
scenarios::Result<RecordedJob> recording_of(const results::Evidence& evidence);

}  // namespace deadrank::runners
