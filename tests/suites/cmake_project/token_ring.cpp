// tests/suites/cmake_project/token_ring.cpp — The workload: each step every rank adds one to the token and
// hands it on. After a round the token has grown by the world size; each rank logs what it saw beside what
// it should have seen.
#include "token_ring.h"

#include "lost_token.h"

namespace {

using deadrank::sim::Number;

struct RingSettings : deadrank::sim::Settings {
    using Settings::Settings;
    std::int64_t steps = integer("steps", "4", "rounds", 1);
};

deadrank::scenarios::Kind words() {
    deadrank::scenarios::Kind kind{.name = "token_ring", .what = "a token that goes round the ranks"};
    kind.seams.emplace_back("token");
    return kind;
}

void body(deadrank::sim::World& world, const RingSettings& settings) {
    const deadrank::sim::Rank rank = world.process(), ranks = world.processes();
    const auto comm = world.communicator(
        {.name = "world", .members = deadrank::sim::Members::range(0, ranks), .rank = rank});
    const deadrank::results::TextId name = world.text("token");
    Number token[] = {0};
    for (std::int64_t step = 0; step < settings.steps; ++step) {
        world.step(step);
        if (rank > 0 || step > 0) comm->recv(token, (rank + ranks - 1) % ranks);
        token[0] = world.seam("token", token[0] + 1);
        world.record(
            deadrank::results::ValueSample{.step = step,
                                           .name = name,
                                           .value = static_cast<double>(token[0]),
                                           .expected = static_cast<double>(step * ranks + rank + 1)});
        const bool last = step + 1 == settings.steps && rank + 1 == ranks;
        if (!last) comm->send(token, (rank + 1) % ranks);
    }
}

}  // namespace

deadrank::runners::Extension token_ring() {
    return {.data = DEADRANK_DATA,
            .workloads = {deadrank::sim::workload(words(), body)},
            .detectors = lost_token_detectors};
}
