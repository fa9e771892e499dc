// runners/find/shrink.h — Makes a failing plan smaller, pass by pass, for as long as it fails in the same
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

// ── A failing plan being reduced: each candidate with the same failure replaces it.

// Does this plan have the same failure? Must be deterministic.
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

    // If the candidate is consistent and has the same failure, it becomes the plan; returns whether it did.
    bool take(scenarios::Plan candidate);

    // Asks without taking. A plan that contradicts itself counts as not failing, and is not played.
    bool fails(const scenarios::Plan& candidate);

    // Moves a number towards its goal for as long as the plan fails, to within an eighth and with few digits.
    bool approach(std::int64_t from, std::int64_t goal,
                  const std::function<void(scenarios::Plan&, std::int64_t)>& set);

    // No tries left: the current plan is final.
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

// ── Finds the few that matter: a subset that still fails, and does not with any member left out.

using Subset = std::vector<std::size_t>;  // ascending
using SubsetFails = std::function<bool(const Subset&)>;

// Zeller's ddmin over 0..count-1, which fail together, and then further: ddmin stops at a local minimum, and
// a smaller subset must lack one of its members, so the search is repeated without each of them in turn, as
// long as that finds a smaller one. No subset is tried twice.
Subset smallest_subset(std::size_t count, const SubsetFails& fails);

// ── From a failing plan to a minimal one with the same failure. Deterministic: a plan and a predicate
// determine the result and the number of tries.

struct ShrinkOptions {
    std::size_t tries_most = 5'000;
    std::atomic<bool>* stop = nullptr;
    std::function<void(const std::string& pass, std::size_t tries)> progress = {};
};

struct Shrunk {
    scenarios::Plan plan;
    PlanSize before, after;
    std::size_t tries = 0;           // plans played
    std::vector<std::string> taken;  // passes that reduced the plan, once for each time
    bool finished = true;  // false: stopped, or out of tries; the plan nevertheless has the same failure
};

// `fails(plan)` must hold.
Shrunk shrink(const scenarios::Plan& plan, const Fails& fails, const scenarios::Vocabulary& words,
              const ShrinkOptions& options = {});

}  // namespace deadrank::runners::find
