// runners/find/shrink.h — From a failing plan to a minimal one that fails alike. Deterministic: one plan and
// one predicate give one result after one number of tries.
#pragma once

#include <string>
#include <vector>

#include "runners/find/defaults.h"
#include "runners/find/reduction.h"

namespace deadrank::runners::find {

struct ShrinkOptions {
    std::size_t tries_most = 5'000;
    std::atomic<bool>* stop = nullptr;
    std::function<void(const std::string& pass, std::size_t tries)> progress = {};
};

struct Shrunk {
    scenarios::Plan plan;
    PlanSize before, after;
    std::size_t tries = 0;           // plans that were played
    std::vector<std::string> taken;  // passes that found something, each time
    bool finished = true;  // false: stopped, or out of tries; what there is fails alike nevertheless
};

// `fails(plan)` holds for the plan as it comes.
Shrunk shrink(const scenarios::Plan& plan, const Fails& fails, const scenarios::Vocabulary& words,
              const ShrinkOptions& options = {});

}  // namespace deadrank::runners::find
