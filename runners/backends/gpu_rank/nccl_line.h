// runners/backends/gpu_rank/nccl_line.h — One communicator of NCCL as this rank holds it: a handle, a stream,
// and the thread that makes its calls.
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

// The thread that calls NCCL. Its calls may wait for peers; the rank's own thread must go on to hear its
// clock's faults and its watchdog.

class Lane {
public:
    using Job = std::function<void()>;

    explicit Lane(const Job& first);  // runs before all others
    ~Lane();                          // leaves a thread that is stuck where it is
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
