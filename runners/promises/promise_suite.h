// runners/promises/promise_suite.h — Plays promises: a control for each subject, a run for each promise and
// fault, two more where the first is not kept.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "runners/promises/promise_table.h"

namespace deadrank::runners::promises {

struct SuiteOptions {
    std::vector<std::string> subjects, faults;  // empty = all
    int runs = 3;                               // of a cell whose first run is not kept
    int healthy = 10;                           // runs without a fault, under load
    bool unpromised = false;                    // also play what is not promised, to see what comes
    bool prepare = false;                       // fetch packages that are not there
    std::filesystem::path out;                  // events and logs of every run; empty = not kept
    const std::atomic<bool>* stop = nullptr;
};

// Each cell is told when it is done. Errors: usage (an unknown name, with the nearest).
scenarios::Result<PromiseTable> play_suite(const PromiseBook& book, const SuiteOptions& options,
                                           const std::function<void(const PromiseCell&)>& done,
                                           const std::function<void(const std::string&)>& progress);

}  // namespace deadrank::runners::promises
