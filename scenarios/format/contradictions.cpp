// scenarios/format/contradictions.cpp — Looked for after all draws: a scenario may be sound for one seed and
// not for the next.
#include "scenarios/format/contradictions.h"

#include <fmt/format.h>

namespace deadrank::scenarios {

namespace {

using Found = std::optional<Contradiction>;

constexpr std::int64_t most_of_anything = 1'000'000;  // so that no product of two overflows
constexpr std::int64_t most_ranks = 10'000'000;       // so that a list of them fits into memory

// Degrees of parallelism: tp_size, pp_size, dp_size, ep_size, cp_size.
bool is_degree(std::string_view name, const Value& value) {
    return name.size() == 7 && name.ends_with("p_size") && value.type == ValueType::integer;
}

Found degree_contradiction(const Plan& plan) {
    for (const auto& [name, value] : plan.workload) {
        if (!is_degree(name, value)) continue;
        if (value.number >= 1 && plan.world_size() % value.number == 0) continue;
        return Contradiction{
            "workload." + name,
            fmt::format("{} = {} does not divide the {} ranks", name, value.number, plan.world_size()),
            "choose a divisor of them, or another shape of the cluster"};
    }
    return std::nullopt;
}

Found outside(const std::string& setting, std::string_view noun, const std::vector<std::int64_t>& numbers,
              std::int64_t end) {
    for (const std::int64_t number : numbers) {
        if (number < end) continue;
        return Contradiction{setting, fmt::format("{} {} is outside the cluster", noun, number),
                             fmt::format("it has {}s 0 to {}", noun, end - 1)};
    }
    return std::nullopt;
}

Found after_the_end(const Plan& plan, const std::string& setting, std::int64_t step) {
    const auto steps = plan.workload.find("steps");
    if (steps == plan.workload.end() || step < steps->second.number) return std::nullopt;
    return Contradiction{setting, fmt::format("step {} is after the end", step),
                         fmt::format("the workload has steps 0 to {}", steps->second.number - 1)};
}

Found fault_contradiction(const Plan& plan, const FaultSpec& fault, const std::string& path) {
    for (const auto& [name, value] : fault.parameters) {
        Found found;
        if (value.type == ValueType::ranks)
            found = outside(path + "." + name, "rank", value.list, plan.world_size());
        if (value.type == ValueType::nodes) {
            found = outside(path + "." + name, "node", value.list, plan.number(plan.cluster, "nodes"));
        }
        if (found) return found;
    }
    const Trigger& when = fault.when;
    if (auto found = after_the_end(plan, path + ".when.step", when.step)) return found;
    if (when.until_step >= 0 && when.until_step < when.step) {
        return Contradiction{path + ".when.until_step",
                             fmt::format("until_step {} is before step {}", when.until_step, when.step),
                             "let it end at its first step or later"};
    }
    return std::nullopt;
}

}  // namespace

Found cluster_contradiction(const Plan& plan) {
    for (const char* name : {"nodes", "gpus_per_node"}) {
        const std::int64_t number = plan.number(plan.cluster, name);
        if (number <= most_of_anything) continue;
        return Contradiction{std::string("cluster.") + name,
                             fmt::format("{} = {} is out of all bounds", name, number),
                             fmt::format("the most is {}", most_of_anything)};
    }
    const std::int64_t devices =
        plan.number(plan.cluster, "nodes") * plan.number(plan.cluster, "gpus_per_node");
    if (plan.world_size() > most_ranks) {
        return Contradiction{"cluster.nodes",
                             fmt::format("{} ranks are out of all bounds", plan.world_size()),
                             fmt::format("the most is {}", most_ranks)};
    }
    if (plan.world_size() <= devices) return std::nullopt;
    return Contradiction{"cluster.ranks",
                         fmt::format("{} ranks need more than the {} devices", plan.world_size(), devices),
                         "each rank has a device of its own"};
}

Found contradiction(const Plan& plan) {
    if (auto found = cluster_contradiction(plan)) return found;
    if (auto found = degree_contradiction(plan)) return found;
    for (std::size_t i = 0; i < plan.faults.size(); ++i) {
        if (auto found = fault_contradiction(plan, plan.faults[i], fmt::format("fault.{}", i))) return found;
    }
    if (auto found = outside("expect.ranks", "rank", plan.expect.ranks, plan.world_size())) return found;
    return after_the_end(plan, "expect.step", plan.expect.step.value_or(-1));
}

}  // namespace deadrank::scenarios
