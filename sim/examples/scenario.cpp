// sim/examples/scenario.cpp — A scenario from C++: which rank dies is varied here, and everything else is
// written once. A seed would draw what is left open.
#include <cstdio>
#include <deadrank/runners/suites/suite.h>

namespace {

namespace scenarios = deadrank::scenarios;
using scenarios::ValueType;

scenarios::Setting setting(ValueType type, const char* text) {
    return {.options = {scenarios::parse_value(type, text).value()}};
}
scenarios::Setting rank_setting(std::int64_t rank) {
    return {.options = {{.type = ValueType::ranks, .list = {rank}}}};
}

scenarios::Scenario dying_rank(std::int64_t rank) {
    scenarios::Scenario scenario{.id = "examples/dying_rank", .workload_kind = "data_parallel"};
    scenario.bug = {"communication", "collective_deadlock_hang", "unpropagated_rank_failure",
                    "validation_and_failure_handling"};
    scenario.cluster = {{"nodes", setting(ValueType::integer, "2")},
                        {"gpus_per_node", setting(ValueType::integer, "2")},
                        {"launcher", setting(ValueType::text, "bare")},
                        {"watchdog", setting(ValueType::boolean, "false")}};
    scenario.workload = {{"steps", setting(ValueType::integer, "8")}};
    scenario.faults = {{.kind = "kill_rank", .parameters = {{"rank", rank_setting(rank)}}}};
    scenario.faults[0].when.values = {{"step", setting(ValueType::integer, "5")},
                                      {"before", setting(ValueType::text, "all_reduce")}};
    scenario.expect = {.symptom = "collective_deadlock_hang",
                       .blames = {scenarios::BlameField::rank, scenarios::BlameField::step}};
    return scenario;
}

}  // namespace

int main() {
    const auto suite = deadrank::runners::suites::Suite::open({.data = DEADRANK_DATA});
    if (!suite) return std::printf("%s\n", suite.error().text().c_str()), 1;
    for (std::int64_t rank = 0; rank < 4; ++rank) {
        const auto outcome = suite->play(dying_rank(rank), 1);  // the fault run, its control, its healed run
        const auto* finding = outcome.fault ? outcome.fault->answering() : nullptr;
        std::printf("rank %d dies: %s. %s\n", static_cast<int>(rank), name_of(outcome.verdict).data(),
                    finding ? finding->says.c_str() : outcome.reason.c_str());
    }
}
