// tests/parity_test.cpp — The simulator and real processes, on the same scenarios: do the same findings come
// of both? Times and texts may differ. Where findings do, the scenario's [parity] says why, or the test
// fails.
#include "runners/studies/parity.h"

#include <algorithm>
#include <fmt/format.h>
#include <fstream>
#include <gtest/gtest.h>
#include <iostream>
#include <set>

#include "runners/backends/gpu/gpu_machine.h"
#include "runners/backends/gpu/gpu_runner.h"
#include "runners/backends/local/local_runner.h"
#include "runners/backends/mpi/mpi_runner.h"
#include "runners/backends/process/mpirun.h"
#include "runners/backends/sim/sim_runner.h"
#include "runners/runner/extension.h"
#include "scenarios/format/scenario_file.h"
#include "scenarios/format/taxonomy_file.h"

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

struct Comparison {
    std::size_t least = 1;            // scenarios that must be there
    std::int64_t ranks_most = 4;      // larger ones are played on that many, by both
    std::set<std::string> only = {};  // empty = all whose `backends` names the runner
};

// What `./dev run` plays for real: a line a scenario, `#` before what is said about them.
std::set<std::string> handful() {
    std::ifstream in(DEADRANK_SOURCE_DIRECTORY "/runners/backends/local/handful.txt");
    std::set<std::string> names;
    for (std::string line; std::getline(in, line);)
        if (!line.empty() && line.front() != '#') names.insert(line);
    return names;
}

// The simulator's diagnosis is reality's, or the scenario explains the difference. The rate is printed.
void compare(runners::Runner& reality, const Comparison& comparison) {
    const std::string backend(reality.name());
    const scenarios::Vocabulary vocabulary = runners::vocabulary();
    const auto scenarios = played_for_real(vocabulary, backend);
    runners::SimRunner sim;
    runners::ParityRate rate;
    for (const scenarios::Scenario& scenario : scenarios) {
        if (!comparison.only.empty() && comparison.only.count(scenario.id) == 0) continue;
        SCOPED_TRACE(fmt::format("deadrank parity --runner {} {}", backend, scenario.id));
        const runners::Compared one =
            runners::compare(scenario, {1}, sim, reality, comparison.ranks_most, vocabulary);
        rate.add(one.parity);
        if (one.parity == runners::Parity::not_played) {  // this machine cannot: said, never counted
            std::cout << scenario.id << ": not played for real: " << one.why << "\n";
            continue;
        }
        std::cout << scenario.id << ": " << name_of(one.parity)
                  << "\n    simulated: " << runners::listed(one.simulated)
                  << "\n    real:      " << runners::listed(one.real) << "\n";
        EXPECT_NE(one.parity, runners::Parity::differ)
            << "simulated: " << runners::listed(one.simulated) << "; real: " << runners::listed(one.real);
    }
    std::cout << rate.text(backend) << "\n";
    EXPECT_GE(rate.played(), comparison.least);
}

TEST(DeviceParity, RealProcessesAndTheSimulatorAgreeOnFindings) {
    if (const auto python = runners::best_python(); !python) GTEST_SKIP() << python.error().text();
    runners::LocalRunner local;
    std::set<std::string> names = handful();
    names.insert(
        {"communication/allreduce_count_differs_on_one_rank", "computation/layers_assigned_to_wrong_stage"});
    compare(local, {.least = names.size(), .only = names});  // all of them: deadrank parity
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
