// runners/backends/gpu_rank/line.h — One communicator of NCCL as this rank holds it: a handle, a stream, and
// a thread for its calls.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "runners/backends/gpu_rank/api.h"
#include "runners/backends/gpu_rank/lane.h"

namespace deadrank::runners {

// Whether calls of NCCL come back while they are still in progress, and how long one that makes a
// communicator may be: one that blocks waits for ever.
struct NcclManner {
    bool blocks = true;
    std::chrono::nanoseconds patience{0};
};

struct NcclLine {
    NcclLine(const Api& functions, int device, int own, int members, NcclManner how);

    // On its lane: waits until all members have come, as its manner is. Its code is in `trouble` then.
    void open(const NcclId& id);
    // Asks until what is in progress is over, on the lane as well; until `patience` is over if that is not 0.
    int settle(NcclHandle of, std::chrono::nanoseconds patience);

    const Api& api;
    CudaStream stream = nullptr;
    int rank = 0, size = 1;
    NcclManner manner;
    std::atomic<NcclHandle> handle = nullptr;
    std::atomic<int> trouble = -1;  // of opening it; -1 = it is not open yet
    std::string text;               // NCCL's words for it
    Lane lane;                      // last: its thread sees the others whole
};

}  // namespace deadrank::runners
