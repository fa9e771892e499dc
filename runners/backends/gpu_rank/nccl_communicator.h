// runners/backends/gpu_rank/nccl_communicator.h — One communicator of NCCL as this rank holds it: a handle, a
// stream, and the thread that makes its calls.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <queue>
#include <string>
#include <thread>

#include "runners/backends/gpu_rank/api.h"

namespace deadrank::runners {

// The thread that calls NCCL. Its calls may wait for peers; the rank's own thread must stay free for timed
// faults and its watchdog.
class Lane {
public:
    using Job = std::function<void()>;

    explicit Lane(const Job& first);  // runs before all others
    ~Lane();                          // abandons a thread that is stuck
    Lane(const Lane&) = delete;
    Lane& operator=(const Lane&) = delete;

    void post(Job job);  // in order

private:
    struct Shared {
        std::mutex mutex;
        std::condition_variable changed;
        std::queue<Job> jobs;
        bool over = false;
    };
    std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
};

// Whether NCCL's calls block, and how long a non-blocking creation of a communicator may take; a blocking one
// waits for ever.
struct NcclManner {
    bool blocks = true;
    std::chrono::nanoseconds patience{0};
};

struct NcclCommunicator {
    NcclCommunicator(const Api& functions, int device, int own, int members, NcclManner how);

    // Call this on the lane: it waits for all members as `manner` says, then puts NCCL's code into `trouble`.
    void open(const NcclId& id);
    // Call this on the lane: it polls until the operation has ended, at most for `patience` if that is not 0.
    int settle(NcclHandle of, std::chrono::nanoseconds patience);

    const Api& api;
    CudaStream stream = nullptr;
    int rank = 0, size = 1;
    NcclManner manner;
    std::atomic<NcclHandle> handle = nullptr;
    std::atomic<int> trouble = -1;  // NCCL's code for opening it; -1 = not open yet
    std::string text;               // NCCL's message for it
    Lane lane;                      // last: its thread uses the members above
};

}  // namespace deadrank::runners
