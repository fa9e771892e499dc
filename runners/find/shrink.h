// runners/find/shrink.h — A failing plan made smaller, pass after pass, for as long as it fails in the same
// way.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "runners/find/knob.h"
#include "scenarios/model/plan.h"

namespace deadrank::runners::find {

// A failing plan on its way down: whatever still fails alike takes its place.

// Does this plan fail alike? Must answer the same for the same plan.
using Fails = std::function<bool(const scenarios::Plan&)>;

class Reduction {
public:
    // `plan` fails. All outlive the reduction; `stop` may be null.
    Reduction(scenarios::Plan plan, const Fails& fails, const scenarios::Vocabulary& words,
              std::size_t tries_most, std::atomic<bool>* stop)
        : plan_(std::move(plan)), fails_(fails), words_(words), tries_most_(tries_most), stop_(stop) {}

    const scenarios::Plan& plan() const { return plan_; }
    const scenarios::Vocabulary& words() const { return words_; }
    std::size_t tries() const { return tries_; }

    // True, and it is the plan from now on, when the candidate makes sense and fails alike.
    bool take(scenarios::Plan candidate);

    // Asks without taking. A plan that contradicts itself does not fail alike, and is not played.
    bool fails(const scenarios::Plan& candidate);

    // Lowers (or raises) a number towards its goal as far as it goes, to within an eighth and with few
    // digits.
    bool approach(std::int64_t from, std::int64_t goal,
                  const std::function<void(scenarios::Plan&, std::int64_t)>& set);

    // No more tries: what there is stays.
    bool exhausted() const { return tries_ >= tries_most_ || (stop_ && stop_->load()); }

private:
    scenarios::Plan plan_;
    const Fails& fails_;
    const scenarios::Vocabulary& words_;
    const std::size_t tries_most_;
    std::atomic<bool>* stop_;
    std::size_t tries_ = 0;
    std::unordered_map<std::string, bool> answers_;  // by digest; looked up, never iterated
};

// Which few of many matter: a subset that still fails and from which nothing can be left out.

using Subset = std::vector<std::size_t>;  // ascending
using SubsetFails = std::function<bool(const Subset&)>;

// Zeller's ddmin over 0..count-1, which fail together, and then further: ddmin ends in the nearest minimum,
// and a smaller subset must lack one of the found members, so all others are searched without each of them in
// turn, as long as that finds less. No subset is asked about twice.
Subset smallest_subset(std::size_t count, const SubsetFails& fails);

// From a failing plan to a minimal one that fails alike. Deterministic: one plan and one predicate give one
// result after one number of tries.

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
