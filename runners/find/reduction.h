// runners/find/reduction.h — A failing plan on its way down: whatever still fails alike takes its place.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>

#include "scenarios/model/plan.h"

namespace deadrank::runners::find {

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

}  // namespace deadrank::runners::find
