// runners/find/pass_faults.cpp — Fewer faults, and fewer ranks and nodes that each of them hits.
#include "runners/find/passes.h"
#include "runners/find/subset.h"

namespace deadrank::runners::find {

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
    if (reduction.take(with({}))) return true;  // it fails without any: a healthy job
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

}  // namespace deadrank::runners::find
