// tests/parity_test.cpp — The simulator and real processes, on the same scenarios: do the same findings come
// of both? Times and texts may differ. Where findings do, the scenario's [parity] says why, or it counts
// against the share that must agree.
#include "runners/parity/parity.h"

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <iostream>
#include <numeric>

#include "results/record/words.h"
#include "runners/backends/gpu/gpu_machine.h"
#include "runners/backends/gpu/gpu_runner.h"
#include "runners/backends/local/local_runner.h"
#include "runners/backends/mpi/mpi_runner.h"
#include "runners/backends/process/mpirun.h"
#include "runners/backends/sim/sim_runner.h"
#include "runners/extension/extension.h"
#include "scenarios/format/scenario_file.h"
#include "scenarios/format/taxonomy_file.h"
#include "scenarios/model/chance.h"

namespace deadrank {
namespace {

namespace fs = std::filesystem;

std::vector<scenarios::Scenario> played_for_real(const scenarios::Vocabulary& vocabulary,
                                                 const std::string& backend) {
    const fs::path source(DEADRANK_SOURCE_DIRECTORY);
    const auto taxonomy = scenarios::load_taxonomy(source / "scenarios" / "taxonomy.toml");
    if (!taxonomy) throw std::runtime_error(taxonomy.error().text());
    auto catalog = scenarios::load_catalog(source / "scenarios" / "catalog", *taxonomy, vocabulary);
    if (!catalog) throw std::runtime_error(catalog.error().text());
    std::vector<scenarios::Scenario> real;
    for (scenarios::Scenario& scenario : catalog->scenarios) {
        const auto& backends = scenario.backends;
        if (std::count(backends.begin(), backends.end(), backend) > 0) real.push_back(std::move(scenario));
    }
    return real;
}

// What is played is drawn, seed and scenarios, so that nothing can be tuned to it. The day draws, and is
// printed.
std::uint64_t drawn_by() {
    if (const char* number = std::getenv("DEADRANK_PARITY_DRAW")) return std::strtoull(number, nullptr, 10);
    const std::time_t now = std::time(nullptr);
    std::tm day{};
    gmtime_r(&now, &day);
    return static_cast<std::uint64_t>((day.tm_year + 1900) * 10000 + (day.tm_mon + 1) * 100 + day.tm_mday);
}

struct Comparison {
    std::size_t least = 1;         // scenarios that must have been played
    double share = 0.7;            // that agree or say why; seeds that nobody had tried gave 78 to 100 %
    std::size_t drawn = SIZE_MAX;  // so many of those whose `backends` names the runner; all unless stated
    std::int64_t ranks_most = 4;   // larger ones are played on that many, by both
};

std::vector<scenarios::Scenario> drawn_from(std::vector<scenarios::Scenario> all, const scenarios::Draw& draw,
                                            std::size_t count) {
    if (count >= all.size()) return all;
    std::vector<std::int64_t> places(all.size());
    std::iota(places.begin(), places.end(), 0);
    std::vector<scenarios::Scenario> drawn;
    for (const std::int64_t place : draw.some(std::move(places), count))
        drawn.push_back(std::move(all[static_cast<std::size_t>(place)]));
    return drawn;
}

// The simulator's diagnosis is reality's, or the scenario explains the difference, as often as is asked for:
// a seed that nobody has tried may part them, and the command measures how often one does.
void compare(runners::Runner& reality, const Comparison& comparison) {
    constexpr std::int64_t seeds = 1000;
    const std::string backend(reality.name());
    const std::uint64_t number = drawn_by();
    const scenarios::Seed seed{
        static_cast<std::uint64_t>(scenarios::Draw(number, backend, "seed").between(0, 1, seeds))};
    const scenarios::Vocabulary vocabulary = runners::vocabulary();
    const auto played = drawn_from(played_for_real(vocabulary, backend),
                                   scenarios::Draw(number, backend, "scenarios"), comparison.drawn);
    std::cout << "drawn by DEADRANK_PARITY_DRAW=" << number << ": seed " << seed.number << ", "
              << results::counted(played.size(), "scenario") << "\n";
    runners::SimRunner sim;
    runners::ParityRate rate;
    std::string apart;
    for (const scenarios::Scenario& scenario : played) {
        const runners::Compared one =
            runners::compare(scenario, seed, sim, reality, comparison.ranks_most, vocabulary);
        rate.add(one);
        if (one.parity == runners::Parity::not_played) {  // this machine cannot: said, never counted
            std::cout << scenario.id << ": not played for real: " << one.why << "\n";
            continue;
        }
        std::cout << scenario.id << ": " << name_of(one.parity)
                  << "\n    simulated: " << runners::listed(one.simulated)
                  << "\n    real:      " << runners::listed(one.real) << "\n";
        if (one.parity == runners::Parity::differ)
            apart += fmt::format("deadrank report parity --runner {} --seed {} {}\n", backend, seed.number,
                                 scenario.id);
    }
    std::cout << rate.text(backend) << "\n" << apart;
    EXPECT_GE(rate.played(), comparison.least);
    EXPECT_GE(static_cast<double>(rate.agreed + rate.explained),
              comparison.share * static_cast<double>(rate.played()))
        << apart;
}

TEST(DeviceParity, RealProcessesAndTheSimulatorAgreeOnFindings) {
    if (const auto python = runners::best_python(); !python) GTEST_SKIP() << python.error().text();
    runners::LocalRunner local;
    compare(local,
            {.least = 4, .share = 0.5, .drawn = 6});  // all of them: deadrank report parity --seeds 1..3
}

TEST(DeviceParity, MpiRanksAndTheSimulatorAgreeOnFindings) {
    if (const auto there = runners::mpi_is_there(); !there) GTEST_SKIP() << there.error().text();
    runners::MpiRunner mpi;
    compare(mpi, {.least = 20});
}

// On GPUs where there are some, else on the drop-in, whose NCCL answers as the real one was measured to.
TEST(DeviceParity, GpuRanksAndTheSimulatorAgreeOnFindings) {
    unsetenv(runners::standin_variable);
    if (!runners::find_gpus()) setenv(runners::standin_variable, "1", 1);
    const auto machine = runners::find_gpus();
    if (machine) {
        std::cout << "played on " << machine->text() << "\n";
        runners::GpuRunner gpu;
        compare(gpu, {.least = 15});
    }
    unsetenv(runners::standin_variable);
    if (!machine) GTEST_SKIP() << machine.error().text();
}

}  // namespace
}  // namespace deadrank
