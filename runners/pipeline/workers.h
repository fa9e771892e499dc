// runners/pipeline/workers.h — The one thread pool: independent pieces of work, each with its own place for
// its result, so that the order in which they finish does not matter.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>

#include "runners/backend/runner.h"

namespace deadrank::runners {

using MakeRunner = std::function<std::unique_ptr<Runner>()>;

struct Workers {
    MakeRunner make_runner;  // called once on each thread
    int threads = 1;
    std::atomic<bool>* stop = nullptr;
    // Called after each index, on any thread, one call at a time.
    std::function<void(std::size_t done, std::size_t all)> progress = {};
};

// Calls `work` for 0..count-1, each index once, on at most `count` threads including the caller's. After a
// stop the rest is skipped. Returns how many were done.
std::size_t for_each_index(std::size_t count, const Workers& workers,
                           const std::function<void(std::size_t index, Runner& runner)>& work);

}  // namespace deadrank::runners
