// sim/examples/workload.cpp — A workload of one's own: heat spreads around a ring of ranks. Every fault of
// the catalogue reaches it, although no fault knows it: here one of two ranks is killed before its
// all-reduce.
#include <cstdio>
#include <deadrank/runners/suites/suite.h>
#include <deadrank/sim/workloads/settings.h>

namespace {
namespace scenarios = deadrank::scenarios;
namespace sim = deadrank::sim;
using scenarios::ValueType;

struct HeatSettings : sim::Settings {
    using Settings::Settings;
    std::int64_t steps = integer("steps", "10", "sweeps over the ring", 1);
    sim::Time work = duration("work", "50ms", "compute time of a sweep");
};

// What each rank runs. It sees the world and nothing else, so it also runs on MPI and GPU ranks.
void spread_heat(sim::World& world, const HeatSettings& settings) {
    const sim::Rank rank = world.process(), ranks = world.processes();
    const auto comm =
        world.communicator({.name = "world", .members = sim::Members::range(0, ranks), .rank = rank});
    sim::Number heat = rank == 0 ? 1 << 20 : 0;
    for (std::int64_t step = 0; step < settings.steps; ++step) {
        world.step(step);
        world.device().compute(settings.work);
        sim::Number right[] = {world.seam("heat", heat)}, left[] = {0};
        const auto sent = comm->send_async(right, (rank + 1) % ranks);
        comm->recv(left, (rank + ranks - 1) % ranks);
        sent->wait();
        heat = (heat + left[0]) / 2;
        sim::Number total[] = {heat};
        comm->all_reduce(total);
    }
}

scenarios::Setting setting(ValueType type, const char* text) {
    return {.options = {scenarios::parse_value(type, text).value()}};
}

}  // namespace

int main() {
    scenarios::Kind words{.name = "heat", .what = "heat spreads around a ring", .seams = {"heat"}};
    const auto suite = deadrank::runners::suites::Suite::open(
        {.data = DEADRANK_DATA, .extension = {.workloads = {sim::workload(words, spread_heat)}}});
    scenarios::Scenario scenario{.id = "examples/heat", .workload_kind = "heat"};
    scenario.bug = {"communication", "collective_deadlock_hang", "unpropagated_rank_failure",
                    "validation_and_failure_handling"};
    scenario.cluster = {{"launcher", setting(ValueType::text, "bare")},
                        {"watchdog", setting(ValueType::boolean, "false")}};
    scenario.faults = {{.kind = "kill_rank", .parameters = {{"rank", {.selector = "any"}}}}};
    scenario.faults[0].when.values = {{"step", setting(ValueType::integer, "4")},
                                      {"before", setting(ValueType::text, "all_reduce")}};
    scenario.expect = {.symptom = "collective_deadlock_hang", .blames = {scenarios::BlameField::rank}};
    const auto outcome = suite->play(scenario, 1);
    std::printf("%s\n", name_of(outcome.verdict).data());
    for (const auto& finding : outcome.fault->findings) std::printf("%s\n", finding.says.c_str());
}
