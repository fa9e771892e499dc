// sim/examples/fault.cpp — A fault of one's own: a rank freezes for seconds, twice. It pulls levers and sees
// no result. The injector decides when it acts, and deadrank's own detectors look for it.
#include <cstdio>
#include <deadrank/inject/core/fault.h>
#include <deadrank/runners/suites/suite.h>

namespace {

namespace inject = deadrank::inject;
namespace scenarios = deadrank::scenarios;
using scenarios::ValueType;
using std::chrono_literals::operator""s;

const inject::FaultRow freeze_twice{
    {.name = "freeze_twice",
     .what = "The process stops for a while, goes on, and stops again.",
     .parameters = {inject::rank_parameter(),
                    {"pause", ValueType::duration, "20s", "how long each stop lasts"}},
     .levers = {inject::Stop::lever, inject::Resume::lever}},
    [](const inject::FaultSpec& spec) {
        using inject::Levers, inject::Rank;
        return inject::make_simple_fault(
            spec, {.apply = [](Levers& levers, Rank rank) { return levers.pull(inject::Stop{rank}); },
                   .revert = [](Levers& levers, Rank rank) { (void)levers.pull(inject::Resume{rank}); },
                   .blame = inject::aimed(spec),
                   .rhythm = {.on = inject::duration(spec, "pause"), .off = 5s, .times = 2}});
    },
    "step"};

scenarios::Setting setting(ValueType type, const char* text) {
    return {.options = {scenarios::parse_value(type, text).value()}};
}

}  // namespace

int main() {
    const auto suite = deadrank::runners::suites::Suite::open(
        {.data = DEADRANK_DATA, .extension = {.faults = {freeze_twice}}});
    scenarios::Scenario scenario{.id = "examples/freeze", .workload_kind = "data_parallel"};
    scenario.bug = {"scheduling", "straggler_step_time_skew", "rank_local_slowdown",
                    "validation_and_failure_handling"};
    scenario.cluster = {{"nodes", setting(ValueType::integer, "4")}};
    scenario.workload = {{"steps", setting(ValueType::integer, "100")}};
    scenario.faults = {{.kind = "freeze_twice", .parameters = {{"rank", {.selector = "any"}}}}};
    scenario.faults[0].when.values = {{"step", setting(ValueType::integer, "30")}};
    scenario.expect = {.symptom = scenario.bug.symptom, .blames = {scenarios::BlameField::rank}};
    for (const std::uint64_t seed : {1, 2, 3}) {
        const auto outcome = suite->play(scenario, seed);
        std::printf("seed %d: %s\n", static_cast<int>(seed), name_of(outcome.verdict).data());
        for (const auto& finding : outcome.fault->findings) std::printf("  %s\n", finding.says.c_str());
    }
}
