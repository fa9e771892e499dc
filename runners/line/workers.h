// runners/line/workers.h — The one pool of threads: independent pieces of work, each with a place of its own
// for its answer, so that the result does not depend on which came first.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>

#include "runners/runner/runner.h"

namespace deadrank::runners {

using MakeRunner = std::function<std::unique_ptr<Runner>()>;

struct Workers {
    MakeRunner make_runner;  // once on each thread
    int threads = 1;
    std::atomic<bool>* stop = nullptr;
    // Called after each index, on any thread, one call at a time.
    std::function<void(std::size_t done, std::size_t all)> progress = {};
};

// Calls `work` for 0..count-1, each index once, on at most `count` threads, of which one is the caller's.
// After a stop the remaining ones are left out. Returns how many were done.
std::size_t for_each_index(std::size_t count, const Workers& workers,
                           const std::function<void(std::size_t index, Runner& runner)>& work);

}  // namespace deadrank::runners
