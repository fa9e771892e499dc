// tests/fuzz/fault_expression_fuzz.cpp — Promise: a line of `inject` is refused with words, or joins a plan.
// Written and read again, the plan is the same, or is refused with words: behind "before" a seam of a program
// may stand that the workload of this plan does not have.
#include "scenarios/format/fault_expression.h"
#include "tests/fuzz/scenario_words.h"
#include "tests/fuzz/target.h"

namespace deadrank::fuzz {
namespace {

const scenarios::Plan& plan_without_faults() {
    static const scenarios::Plan plan = [] {
        const std::filesystem::path file =
            DEADRANK_SOURCE_DIRECTORY "/scenarios/catalog/communication/rank_leaves_all_reduce.toml";
        const auto scenario = scenarios::load(file, taxonomy(), vocabulary());
        auto trial = scenarios::resolve(
            *scenario, {1}, {.levers = {"*"}, .workloads = {"*"}, .ranks_max = 4'096}, vocabulary());
        trial->fault.faults.clear();
        return trial->fault;
    }();
    return plan;
}

}  // namespace
}  // namespace deadrank::fuzz

FUZZ_TARGET(fault_expression) {
    const auto fault = scenarios::read_fault_expression(text, vocabulary());
    if (!fault) return refused(fault);
    const auto plan = scenarios::with_faults(plan_without_faults(), {*fault}, vocabulary());
    if (!plan) return refused(plan);
    const auto back = scenarios::parse_plan(scenarios::to_toml(*plan), "plan.toml", taxonomy(), vocabulary());
    if (!back) return refused(back);
    CHECK(*back == *plan);
    return true;
}
