// runners/backends/gpu_rank/lane.cpp — Detached: a thread inside a call that never returns cannot be joined.
#include "runners/backends/gpu_rank/lane.h"

#include <utility>

namespace deadrank::runners {

Lane::Lane(const Job& first) {
    post(first);
    std::thread([shared = shared_] {
        for (;;) {
            std::unique_lock lock(shared->mutex);
            shared->changed.wait(lock, [&] { return shared->over || !shared->jobs.empty(); });
            if (shared->over) return;
            const Job job = std::move(shared->jobs.front());
            shared->jobs.pop();
            lock.unlock();
            job();
        }
    }).detach();
}

Lane::~Lane() {
    const std::lock_guard lock(shared_->mutex);
    shared_->over = true;
    shared_->changed.notify_all();
}

void Lane::post(Job job) {
    const std::lock_guard lock(shared_->mutex);
    shared_->jobs.push(std::move(job));
    shared_->changed.notify_all();
}

}  // namespace deadrank::runners
