// runners/find/pass_steps.cpp — A shorter training, and moments that are said in fewer words.
#include <algorithm>

#include "runners/find/passes.h"

namespace deadrank::runners::find {

using scenarios::Plan;
using scenarios::Trigger;

namespace {

template <class Change>
void each_step(Plan& plan, const Change& change) {
    for (auto& fault : plan.faults) {
        if (fault.when.step >= 0) fault.when.step = change(fault.when.step);
        if (fault.when.until_step >= 0) fault.when.until_step = change(fault.when.until_step);
    }
    if (plan.expect.step) plan.expect.step = change(*plan.expect.step);
}

// Moments beyond the new end come at the last step.
Plan shortened(Plan plan, std::int64_t steps) {
    plan.workload["steps"].number = steps;
    each_step(plan, [&](std::int64_t step) { return std::min(step, steps - 1); });
    return plan;
}

Plan earlier(Plan plan, std::int64_t by) {
    each_step(plan, [&](std::int64_t step) { return std::max<std::int64_t>(step - by, 0); });
    return plan;
}

bool all_earlier(Reduction& reduction) {
    std::int64_t first = INT64_MAX;
    Plan plan = reduction.plan();
    each_step(plan, [&](std::int64_t step) { return first = std::min(first, step), step; });
    if (first == INT64_MAX) return false;
    for (std::int64_t by = first; by > 0; by /= 2) {
        if (reduction.take(earlier(reduction.plan(), by))) return true;
    }
    return false;
}

using Simpler = bool (*)(Trigger&);  // false where there is nothing to leave out

const std::vector<Simpler>& simplifications() {
    static const std::vector<Simpler> ways = {
        [](Trigger& when) { return !when.comm.empty() && (when.comm.clear(), true); },
        [](Trigger& when) { return !when.phase.empty() && (when.phase.clear(), true); },
        [](Trigger& when) { return !when.before.empty() && (when.before.clear(), true); },
        [](Trigger& when) { return when.nth > 1 && (when.nth = 1, true); },
        [](Trigger& when) { return when.always && (when.always = false, true); },
        [](Trigger& when) { return when.until_step >= 0 && (when.until_step = -1, true); },
        [](Trigger& when) { return when.lasts >= 0 && (when.lasts = -1, true); },
        [](Trigger& when) { return when.at >= 0 && (when.at = -1, true); },
    };
    return ways;
}

bool simpler_moment(Reduction& reduction, std::size_t fault) {
    bool any = false;
    for (const Simpler simpler : simplifications()) {
        Plan candidate = reduction.plan();
        if (simpler(candidate.faults[fault].when)) any = reduction.take(std::move(candidate)) || any;
    }
    const Trigger when = reduction.plan().faults[fault].when;
    const auto lower = [&](std::int64_t Trigger::*member, std::int64_t goal) {
        const std::int64_t now = when.*member;
        if (now <= goal) return false;
        return reduction.approach(
            now, goal, [&](Plan& plan, std::int64_t number) { plan.faults[fault].when.*member = number; });
    };
    any = lower(&Trigger::step, 0) || any;
    any = lower(&Trigger::lasts, 1) || any;
    return lower(&Trigger::at, 0) || any;
}

}  // namespace

bool fewer_steps(Reduction& reduction) {
    const auto steps = reduction.plan().workload.find("steps");
    if (steps == reduction.plan().workload.end()) return false;
    const std::int64_t most = steps->second.number;
    const bool moved = all_earlier(reduction);
    const Plan whole = reduction.plan();
    std::int64_t too_few = 0;
    for (std::int64_t few = 1; few < most; too_few = few, few *= 2) {
        if (!reduction.take(shortened(whole, few))) continue;
        for (std::int64_t enough = few; enough - too_few > 1;) {
            const std::int64_t middle = too_few + (enough - too_few) / 2;
            (reduction.take(shortened(whole, middle)) ? enough : too_few) = middle;
        }
        return true;
    }
    if (most > 1 && reduction.take(shortened(whole, too_few + (most - too_few) / 2))) return true;
    return (most > 1 && reduction.take(shortened(whole, most - 1))) || moved;
}

bool simpler_moments(Reduction& reduction) {
    bool any = false;
    for (std::size_t fault = 0; fault < reduction.plan().faults.size(); ++fault) {
        any = simpler_moment(reduction, fault) || any;
    }
    return any;
}

}  // namespace deadrank::runners::find
