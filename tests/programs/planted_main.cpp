// tests/programs/planted_main.cpp — deadrank with two workloads that are not deterministic: they write down
// where a variable lies. `deadrank replay determinism` must find both and name the event.
#include <cstdint>
#include <memory>
#include <vector>

#include "runners/program/program.h"

namespace {

using namespace deadrank;

constexpr std::int64_t odd_step = 700;
constexpr sim::Rank odd_rank = 1;

struct PlantedSettings : sim::Settings {
    using Settings::Settings;
    std::int64_t steps = integer("steps", "1000", "training steps");
};

void train(sim::World& world, const PlantedSettings& settings, const void* (*where)()) {
    for (std::int64_t step = 0; step < settings.steps; ++step) {
        world.step(step);
        world.device().compute(sim::Time(1'000'000));
        if (step != odd_step || world.process() != odd_rank) continue;
        const auto address = reinterpret_cast<std::uintptr_t>(where());
        world.record(results::ValueSample{step, world.text("where it lies"),
                                          static_cast<double>(address / 16 % 1'000'000'007), 0.0});
    }
}

// Nothing is given back, so every run has another one.
const void* on_the_heap() {
    static std::vector<std::unique_ptr<int>> kept;
    return kept.emplace_back(std::make_unique<int>()).get();
}

// The same as long as the process lives: only another process has it elsewhere.
const void* in_the_program() {
    static const int variable = 0;
    return &variable;
}

sim::WorkloadKind kind(const char* name, void (*body)(sim::World&, const PlantedSettings&)) {
    return sim::workload({name, "writes down where a variable lies"}, body);
}

void heap_address(sim::World& world, const PlantedSettings& settings) { train(world, settings, on_the_heap); }
void program_address(sim::World& world, const PlantedSettings& settings) {
    train(world, settings, in_the_program);
}

}  // namespace

int main(int argc, char** argv) {
    runners::Extension extension;
    extension.workloads = {kind("heap_address", heap_address), kind("program_address", program_address)};
    return runners::run_program(argc, argv, extension);
}
