// tests/runners/find/planted.cpp — Built on shipped scenarios, so that every value is one that can be loaded.
#include "tests/runners/find/planted.h"

#include <array>

#include "runners/find/finds.h"
#include "scenarios/format/plan_file.h"
#include "scenarios/format/taxonomy_file.h"
#include "scenarios/model/error.h"

namespace deadrank::runners::find::testing {

namespace {

using scenarios::FaultSpec;
using scenarios::Plan;
using scenarios::ValueType;

Plan resolved(const std::string& id) {
    const auto trial =
        scenarios::resolve(catalog().named(id), {1}, {.levers = {"*"}, .workloads = {"*"}}, words());
    CHECK(trial.has_value());
    return trial->fault;
}

FaultSpec fault_on(const std::string& kind, std::int64_t rank) {
    FaultSpec fault{.kind = kind};
    for (const auto& parameter : words().fault(kind)->parameters) {
        if (parameter.fallback.empty()) continue;
        const bool text = parameter.type == ValueType::text || parameter.type == ValueType::choice;
        fault.parameters[parameter.name] =
            text ? scenarios::Value{parameter.type, 0, parameter.fallback, {}, {}}
                 : *scenarios::parse_value(parameter.type, parameter.fallback);
    }
    fault.parameters["rank"] = {.type = ValueType::ranks, .list = {rank}};
    return fault;
}

}  // namespace

const tests::ShippedCatalog& catalog() {
    static const tests::ShippedCatalog shipped;
    return shipped;
}

const scenarios::Taxonomy& taxonomy() {
    static const auto loaded =
        scenarios::load_taxonomy(std::string(DEADRANK_SOURCE_DIRECTORY) + "/scenarios/taxonomy.toml");
    CHECK(loaded.has_value());
    return *loaded;
}

const scenarios::Vocabulary& words() { return catalog().vocabulary; }

Plan crowded_plan(std::size_t faults) {
    static constexpr std::array<const char*, 4> kinds = {"slow_rank", "kill_rank", "stop_rank", "exit_rank"};
    Plan plan = resolved("communication/rank_leaves_all_reduce");
    plan.cluster["nodes"].number = 32;
    plan.cluster["gpus_per_node"].number = 8;
    plan.workload["steps"].number = 64;
    plan.workload["layers"].number = 64;
    plan.workload["width"].number = 32;
    plan.workload["step_time"].number = 350'000'000;
    plan.seed.number = 77;
    plan.faults.clear();
    for (std::size_t i = 1; i <= faults; ++i) {
        FaultSpec fault = fault_on(kinds[i % kinds.size()], static_cast<std::int64_t>(i));
        fault.when.step = static_cast<std::int64_t>(i % 64);
        fault.when.before = "all_reduce";
        fault.when.nth = static_cast<std::int64_t>(i);
        plan.faults.push_back(std::move(fault));
    }
    return plan;
}

bool has_fault(const Plan& plan, const std::string& kind, std::int64_t nth) {
    for (const FaultSpec& fault : plan.faults) {
        if (fault.kind == kind && fault.when.nth == nth) return true;
    }
    return false;
}

Plan parallel_plan(std::int64_t ranks, std::int64_t tp_size) {
    Plan plan = resolved("computation/tensor_parallel_columns_overlap");
    plan.cluster["nodes"].number = 1;
    plan.cluster["gpus_per_node"].number = ranks;
    plan.cluster.erase("ranks");
    plan.workload["tp_size"].number = tp_size;
    plan.faults = {fault_on("kill_rank", ranks - 1)};
    return plan;
}

Plan hang_among(std::size_t faults) {
    Plan plan = resolved("communication/rank_leaves_all_reduce");
    const FaultSpec culprit = plan.faults.front();
    plan.faults.clear();
    for (std::size_t i = 0; i < faults; ++i) {
        FaultSpec fault = fault_on("delay_collective", static_cast<std::int64_t>(i % 8));
        fault.parameters["by"].number = 1'000'000;
        fault.when.step = static_cast<std::int64_t>(i % 20);
        plan.faults.push_back(std::move(fault));
    }
    plan.faults[faults * 2 / 3] = culprit;
    return plan;
}

std::string as_scenario(const Plan& plan) {
    return scenario_text(plan, words(), "A plan that was shrunk by a test.");
}

}  // namespace deadrank::runners::find::testing
