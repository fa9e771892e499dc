// tests/cost_test.cpp — Goal: what a rank's step costs stays what it was and does not grow with the job
// beyond log n. Work is counted, not timed, and by the engine: events, turns of actors, members visited,
// messages played out. A processor's count of instructions would depend on the compiler, and virtual machines
// seldom have one. Recorded in tests/data/cost.txt, rewritten by UPDATE_COST=1, reviewed as a diff.
#include <array>
#include <cmath>
#include <cstdlib>
#include <fmt/format.h>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <sstream>

#include "results/record/evidence.h"
#include "scenarios/model/error.h"
#include "sim/cluster/cluster.h"
#include "sim/engine/stage.h"
#include "sim/workloads/workload_catalog.h"
#include "tests/sim/ring.h"

namespace deadrank::sim {
namespace {

constexpr std::array<Rank, 3> sizes = {64, 1'024, 16'384};
constexpr double tolerance = 1.15;
constexpr const char* recorded_at = DEADRANK_SOURCE_DIRECTORY "/tests/data/cost.txt";

using Counts = std::map<std::string, double>;

Counts counts_of(Engine& engine) {
    return {{"events", static_cast<double>(engine.trace().events())},
            {"turns", static_cast<double>(engine.steps())},
            {"visits", static_cast<double>(engine.effort().visits)},
            {"messages", static_cast<double>(engine.effort().messages)}};
}

ClusterSettings nodes_of_eight(Rank ranks) {
    ClusterSettings settings;
    settings.gpus_per_node = 8;
    settings.nodes = static_cast<int>(ranks) / settings.gpus_per_node;
    return settings;
}

void ring(Engine& engine, Rank ranks, std::int64_t steps) {
    const auto size = static_cast<std::uint32_t>(ranks);
    engine.reset({.actors = size, .stack_bytes = 16 << 10});
    rig::Ring ring(engine, size, static_cast<std::uint64_t>(steps));
    ring.spawn();
    EXPECT_EQ(engine.run().ending, Ending::completed);
}

using Setup = std::function<void(Cluster&)>;

void job(Engine& engine, const ClusterSettings& settings, const std::function<void(World&)>& script,
         const Setup& setup = {}) {
    results::Evidence nothing;
    nothing.keep(false);
    Cluster cluster(engine, settings, Seed{1}, nothing);
    if (setup) setup(cluster);
    EXPECT_EQ(cluster.run(script).ending, Ending::completed);
}

// Each reduction is of another size than the one before, so that none is known from it.
void all_reduces(Engine& engine, const ClusterSettings& settings, std::int64_t steps, const Setup& setup) {
    const auto script = [&](World& world) {
        const auto comm =
            world.communicator({"world", Members::range(0, settings.process_count()), world.process()});
        std::vector<Number> data(16, 1);
        for (std::int64_t step = 0; step < steps; ++step)
            comm->all_reduce(std::span(data).first(static_cast<std::size_t>(15 + step % 2)));
    };
    job(engine, settings, script, setup);
}

void all_reduce(Engine& engine, Rank ranks, std::int64_t steps) {
    all_reduces(engine, nodes_of_eight(ranks), steps, {});
}

// Over a slow link, by NCCL's trees: a ring has n messages a rank, whoever plays them.
void playout(Engine& engine, Rank ranks, std::int64_t steps) {
    ClusterSettings settings = nodes_of_eight(ranks);
    settings.environment["NCCL_ALGO"] = "Tree";
    all_reduces(engine, settings, steps,
                [](Cluster& cluster) { cluster.change_link({.from = 0, .bandwidth_permille = 100}); });
}

void training_job(Engine& engine, Rank ranks, std::int64_t steps) {
    const WorkloadKind& kind = *find_workload("data_parallel");
    scenarios::Values values;
    for (const scenarios::Parameter& parameter : kind.words.parameters) {
        if (parameter.fallback.empty()) continue;
        const auto value = scenarios::parse_value(parameter.type, parameter.fallback);
        CHECK(value);
        values[parameter.name] = *value;
    }
    values["steps"].number = steps;
    job(engine, nodes_of_eight(ranks), kind.script(values));
}

struct Case {
    const char* name;
    void (*play)(Engine&, Rank ranks, std::int64_t steps);
};

Counts cost_of(const Case& played, Rank ranks, std::int64_t steps) {
    Counts counts;
    on_stage([&](Engine& engine) {
        played.play(engine, ranks, steps);
        counts = counts_of(engine);
    });
    return counts;
}

// What three more steps cost a rank each, beyond its start and end.
Counts cost_of_a_step(const Case& played, Rank ranks) {
    constexpr std::int64_t few = 2, many = 5;
    const Counts less = cost_of(played, ranks, few);
    Counts more = cost_of(played, ranks, many);
    for (auto& [what, number] : more) {
        number = (number - less.at(what)) / static_cast<double>((many - few) * ranks);
        number = std::round(number * 1000) / 1000;
    }
    return more;
}

using Costs = std::map<std::string, std::vector<double>>;  // by what is counted: a number for each size

Costs costs_of(const Case& played) {
    Costs costs;
    for (const Rank ranks : sizes) {
        for (const auto& [what, number] : cost_of_a_step(played, ranks)) costs[what].push_back(number);
    }
    return costs;
}

// The file: `case what number number number`.
std::map<std::string, Costs> recorded() {
    std::map<std::string, Costs> all;
    std::ifstream file(recorded_at);
    for (std::string line; std::getline(file, line);) {
        std::istringstream words(line);
        std::string name, what;
        words >> name >> what;
        if (name.empty() || name.front() == '#') continue;
        for (double number = 0; words >> number;) all[name][what].push_back(number);
    }
    return all;
}

void record(const Case& played, const Costs& costs) {
    std::map<std::string, Costs> all = recorded();
    all[played.name] = costs;
    std::ofstream file(recorded_at);
    file << "# What a step costs a rank, in jobs of 64, 1024 and 16384: counted by tests/cost_test.cpp, "
            "rewritten by UPDATE_COST=1.\n";
    for (const auto& [name, rows] : all) {
        for (const auto& [what, numbers] : rows)
            file << fmt::format("{} {} {}\n", name, what, fmt::join(numbers, " "));
    }
}

void expect_no_more_than_log_n(const std::string& what, const std::vector<double>& numbers) {
    for (std::size_t i = 1; i < sizes.size(); ++i) {
        const double allowed =
            numbers[i - 1] * std::log2(static_cast<double>(sizes[i])) / std::log2(sizes[i - 1]);
        EXPECT_LE(numbers[i], allowed) << what << " per rank and step of " << sizes[i] << " ranks, and "
                                       << numbers[i - 1] << " of " << sizes[i - 1];
    }
}

void expect_no_more_than(const std::string& what, const std::vector<double>& numbers,
                         const std::vector<double>& before) {
    ASSERT_EQ(before.size(), sizes.size()) << what << " is not recorded: UPDATE_COST=1";
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        EXPECT_LE(numbers[i], before[i] * tolerance)
            << what << " per rank and step of " << sizes[i] << " ranks; if that is meant: UPDATE_COST=1";
    }
}

class StepCost : public ::testing::TestWithParam<Case> {};

TEST_P(StepCost, OfAStepStaysWhatItWasInJobsOfAnySize) {
    const Costs costs = costs_of(GetParam());
    for (const auto& [what, numbers] : costs) expect_no_more_than_log_n(what, numbers);
    if (std::getenv("UPDATE_COST")) return record(GetParam(), costs);
    Costs before = recorded()[GetParam().name];
    for (const auto& [what, numbers] : costs) expect_no_more_than(what, numbers, before[what]);
}

INSTANTIATE_TEST_SUITE_P(, StepCost,
                         ::testing::Values(Case{"ring", ring}, Case{"all_reduce", all_reduce},
                                           Case{"training_job", training_job}, Case{"playout", playout}),
                         [](const auto& played) { return std::string(played.param.name); });

}  // namespace
}  // namespace deadrank::sim
