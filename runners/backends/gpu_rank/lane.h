// runners/backends/gpu_rank/lane.h — The thread that calls NCCL. Its calls may wait for peers; the rank's own
// thread must go on to hear its clock's faults and its watchdog.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <queue>
#include <thread>

namespace deadrank::runners {

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

}  // namespace deadrank::runners
