// runners/line/parallel.h — Many independent questions on several threads; each answer has its own place, so
// that the result does not depend on who came first.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>

#include "runners/runner/runner.h"

namespace deadrank::runners::find {

struct Workers {
    std::function<std::unique_ptr<Runner>()> make_runner;  // once on each thread
    int threads = 1;
    std::atomic<bool>* stop = nullptr;
    // Called on any thread after each index, in no order.
    std::function<void(std::size_t done, std::size_t all)> progress = {};
};

// Calls `work` for 0..count-1, each index once. After a stop the remaining ones are left out. Returns how
// many were done.
std::size_t for_each_index(std::size_t count, const Workers& workers,
                           const std::function<void(std::size_t index, Runner& runner)>& work);

}  // namespace deadrank::runners::find
