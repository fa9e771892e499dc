// runners/gpu/linked/line.h — One communicator of NCCL as this rank holds it: a handle, a stream, and a
// thread for its calls.
#pragma once

#include <memory>
#include <string>

#include "runners/gpu/linked/api.h"
#include "runners/gpu/linked/lane.h"

namespace deadrank::runners {

struct NcclLine {
    NcclLine(const Api& functions, int device, int own, int members);

    // On its lane: waits until all members have come, for ever if need be. Its code is in `trouble` then.
    void open(const NcclId& id);

    const Api& api;
    CudaStream stream = nullptr;
    int rank = 0, size = 1;
    std::atomic<NcclHandle> handle = nullptr;
    std::atomic<int> trouble = -1;  // of opening it; -1 = it is not open yet
    std::string text;               // NCCL's words for it
    Lane lane;                      // last: its thread sees the others whole
};

}  // namespace deadrank::runners
