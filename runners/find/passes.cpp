// runners/find/passes.cpp — The passes that make a failing plan smaller: faults left out, faults made
// simpler, fewer and earlier steps. Those over the cluster and the settings are in pass_settings.cpp.
#include "runners/find/passes.h"

#include <algorithm>
#include <array>

#include "runners/find/knob.h"
#include "runners/find/shrink.h"
#include "scenarios/model/kind_ids.h"

namespace deadrank::runners::find {

// ── Fewer faults, and fewer ranks and nodes hit by each.

using scenarios::FaultSpec;
using scenarios::Plan;
using scenarios::ValueType;

namespace {

template <class T>
std::vector<T> chosen(const std::vector<T>& all, const Subset& which) {
    std::vector<T> some;
    for (const std::size_t index : which) some.push_back(all[index]);
    return some;
}

bool fewer_targets_of(Reduction& reduction, std::size_t fault, const std::string& name) {
    const Plan whole = reduction.plan();
    const std::vector<std::int64_t> targets = whole.faults[fault].parameters.at(name).list;
    if (targets.size() < 2) return false;
    const auto with = [&](const Subset& some) {
        Plan plan = whole;
        plan.faults[fault].parameters.at(name).list = chosen(targets, some);
        return plan;
    };
    const Subset kept =
        smallest_subset(targets.size(), [&](const Subset& some) { return reduction.fails(with(some)); });
    return kept.size() < targets.size() && reduction.take(with(kept));
}

}  // namespace

bool fewer_faults(Reduction& reduction) {
    const Plan whole = reduction.plan();
    if (whole.faults.empty()) return false;
    const auto with = [&](const Subset& some) {
        Plan plan = whole;
        plan.faults = chosen(whole.faults, some);
        return plan;
    };
    if (reduction.take(with({}))) return true;  // it fails without any fault: a healthy job
    const Subset kept =
        smallest_subset(whole.faults.size(), [&](const Subset& some) { return reduction.fails(with(some)); });
    return kept.size() < whole.faults.size() && reduction.take(with(kept));
}

bool fewer_targets(Reduction& reduction) {
    bool any = false;
    for (std::size_t fault = 0; fault < reduction.plan().faults.size(); ++fault) {
        const auto parameters = reduction.plan().faults[fault].parameters;
        for (const auto& [name, value] : parameters) {
            if (value.type != ValueType::ranks && value.type != ValueType::nodes) continue;
            any = fewer_targets_of(reduction, fault, name) || any;
        }
    }
    return any;
}

// ── Replaces a special fault or training by a plainer one.

using scenarios::FaultSpec;
using scenarios::Plan;
using scenarios::Values;
using scenarios::ValueType;

namespace {

// The plainest first. Kinds that are not listed count as more special.
using scenarios::FaultId;
constexpr FaultId plain[] = {FaultId::kill_rank, FaultId::stop_rank,        FaultId::skip_collective,
                             FaultId::slow_rank, FaultId::delay_collective, FaultId::drop_link};
constexpr const char* plain_workload = id_of(scenarios::WorkloadId::data_parallel);

const scenarios::Value* ranks_or_nodes(const FaultSpec& fault, ValueType type) {
    for (const auto& [name, value] : fault.parameters) {
        if (value.type == type) return &value;
    }
    return nullptr;
}

// Keeps place and moment; everything else becomes the default. False if the two kinds aim at different
// things.
bool recast(const FaultSpec& from, const scenarios::Kind& to, std::int64_t gpus, FaultSpec& result) {
    result = {.kind = to.name, .parameters = defaults(to.parameters), .when = from.when};
    if (!to.at_start) result.when.at_start = false;
    for (const auto& parameter : to.parameters) {
        if (result.parameters.count(parameter.name) > 0 || parameter.optional) continue;
        const auto* value = ranks_or_nodes(from, parameter.type);
        if (value) {
            result.parameters.emplace(parameter.name, *value);
            continue;
        }
        const auto* nodes = ranks_or_nodes(from, ValueType::nodes);
        if (parameter.type != ValueType::ranks || !nodes || nodes->list.empty()) return false;
        result.parameters.emplace(
            parameter.name, scenarios::Value{.type = ValueType::ranks, .list = {nodes->list.front() * gpus}});
    }
    return true;
}

bool plainer_fault(Reduction& reduction, std::size_t index) {
    for (const FaultId kind : plain) {
        const FaultSpec& now = reduction.plan().faults[index];
        if (now.kind == kind) return false;
        const auto* words = reduction.words().fault(id_of(kind));
        Plan candidate = reduction.plan();
        const std::int64_t gpus = candidate.number(candidate.cluster, "gpus_per_node");
        if (words && recast(now, *words, gpus, candidate.faults[index]) &&
            reduction.take(std::move(candidate))) {
            return true;
        }
    }
    return false;
}

// Settings that both trainings have keep their values.
bool plainer_workload(Reduction& reduction) {
    const auto* kind = reduction.words().workload(plain_workload);
    if (!kind || reduction.plan().workload_kind == plain_workload) return false;
    Plan candidate = reduction.plan();
    candidate.workload_kind = plain_workload;
    candidate.workload = defaults(kind->parameters);
    for (auto& [name, value] : candidate.workload) {
        const auto old = reduction.plan().workload.find(name);
        if (old != reduction.plan().workload.end() && old->second.type == value.type) value = old->second;
    }
    return reduction.take(std::move(candidate));
}

}  // namespace

bool simpler_kinds(Reduction& reduction) {
    bool any = plainer_workload(reduction);
    for (std::size_t fault = 0; fault < reduction.plan().faults.size(); ++fault) {
        any = plainer_fault(reduction, fault) || any;
    }
    return any;
}

// ── A shorter training, and triggers with fewer conditions.

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

// Moments after the new end move to the last step.
Plan shorten_text(Plan plan, std::int64_t steps) {
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
        if (!reduction.take(shorten_text(whole, few))) continue;
        for (std::int64_t enough = few; enough - too_few > 1;) {
            const std::int64_t middle = too_few + (enough - too_few) / 2;
            (reduction.take(shorten_text(whole, middle)) ? enough : too_few) = middle;
        }
        return true;
    }
    if (most > 1 && reduction.take(shorten_text(whole, too_few + (most - too_few) / 2))) return true;
    return (most > 1 && reduction.take(shorten_text(whole, most - 1))) || moved;
}

bool simpler_moments(Reduction& reduction) {
    bool any = false;
    for (std::size_t fault = 0; fault < reduction.plan().faults.size(); ++fault) {
        any = simpler_moment(reduction, fault) || any;
    }
    return any;
}

}  // namespace deadrank::runners::find
