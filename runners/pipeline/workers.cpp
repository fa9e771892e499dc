// runners/pipeline/workers.cpp — A shared counter hands out the indices.
#include "runners/pipeline/workers.h"

#include <algorithm>
#include <mutex>
#include <thread>
#include <vector>

namespace deadrank::runners {

std::size_t for_each_index(std::size_t count, const Workers& workers,
                           const std::function<void(std::size_t, Runner&)>& work) {
    std::atomic<std::size_t> next = 0;
    std::mutex telling;
    std::size_t done = 0;
    const auto stopped = [&] { return workers.stop && workers.stop->load(); };
    const auto loop = [&] {
        const std::unique_ptr<Runner> runner = workers.make_runner();
        for (std::size_t index = next++; index < count && !stopped(); index = next++) {
            work(index, *runner);
            const std::lock_guard lock(telling);
            ++done;
            if (workers.progress) workers.progress(done, count);
        }
    };
    const auto threads = std::clamp<std::size_t>(static_cast<std::size_t>(std::max(workers.threads, 1)), 1,
                                                 std::max<std::size_t>(count, 1));
    std::vector<std::thread> helpers;
    for (std::size_t i = 1; i < threads; ++i) helpers.emplace_back(loop);
    loop();
    for (std::thread& helper : helpers) helper.join();
    return done;
}

}  // namespace deadrank::runners
