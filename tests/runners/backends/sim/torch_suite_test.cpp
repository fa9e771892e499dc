// tests/runners/backends/sim/torch_suite_test.cpp — torch's own distributed suite, which every wheel carries,
// on managed ranks: each test that real gloo passes on a CPU passes here, and two runs of it are one run. And
// over nccl on simulated GPUs, of which a drawn sample is played; all of them with DEADRANK_TORCH_SUITE=all.
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <gtest/gtest.h>

#include "results/record/evidence.h"
#include "runners/backends/process/mpirun.h"
#include "runners/backends/process/scratch.h"
#include "runners/backends/process/simulated_gpus.h"
#include "runners/backends/sim/managed_runner.h"
#include "scenarios/model/chance.h"

namespace deadrank::runners {
namespace {

namespace fs = std::filesystem;

struct Outcome {
    std::string what;  // pass, skip, or why it failed
    std::uint64_t hash = 0;
};

class DeviceTorchSuite : public testing::Test {
protected:
    void SetUp() override {
        const auto python = best_python();
        if (!python) GTEST_SKIP() << python.error().text();
        if (python->major() < 2)
            GTEST_SKIP() << "the lists are of torch 2.11, and this is " << python->text();
        if (version_of(*python, "expecttest").empty())
            GTEST_SKIP() << "torch's suite needs the package expecttest: pip install expecttest";
        settings_.python = python->program;
        settings_.package = fs::path(DEADRANK_SOURCE_DIRECTORY) / "sim/managed/python";
        settings_.preload = {"torch.testing._internal.distributed.distributed_test"};
        settings_.command.launcher = scenarios::LauncherKind::bare;
        settings_.command.environment = {{"BACKEND", "gloo"}};
    }

    Outcome play(const std::string& name, int ranks) {
        auto scratch = Scratch::make("", {});
        if (!scratch) return {scratch.error().text()};
        settings_.command.ranks_per_node = ranks;
        settings_.command.argv = {DEADRANK_SOURCE_DIRECTORY "/tests/sim/managed/programs/torch_suite_rank.py",
                                  name, scratch->path().string()};
        settings_.directory = scratch->path();
        ManagedRunner runner(settings_);
        const auto record = runner.run(plan_of(settings_.command, {1}), {});
        if (!record) return {record.error().text()};
        Outcome outcome{"pass", record->trace_hash};
        for (const results::Event* event : record->evidence.each<results::RankExit>()) {
            const int code = event->as<results::RankExit>()->code;
            if (code >= 72 && code < 90) return {"skip", record->trace_hash};  // TEST_SKIPS of torch
            if (code != 0) outcome.what = fmt::format("rank {} ended with code {}", event->rank, code);
        }
        return outcome;
    }

    // Plays each test of a list twice, or one of `share`.
    void play_list(const std::string& file, int ranks, int skips, std::uint64_t share = 1) {
        std::ifstream list(
            fmt::format("{}/tests/sim/managed/torch_suite_{}.txt", DEADRANK_SOURCE_DIRECTORY, file));
        int passed = 0, skipped = 0;
        for (std::string name; std::getline(list, name);) {
            if (name.empty() || scenarios::mix(scenarios::number_of(name)) % share != 0) continue;
            const Outcome first = play(name, ranks), second = play(name, ranks);
            EXPECT_EQ(first.hash, second.hash) << name << ": two runs differ";
            if (first.what == "pass")
                ++passed;
            else if (first.what == "skip")
                ++skipped;
            else
                ADD_FAILURE() << name << ": " << first.what;
        }
        std::cout << fmt::format("torch's suite on {} managed ranks: {} passed, {} skipped\n", ranks, passed,
                                 skipped);
        EXPECT_GT(passed, 0);
        EXPECT_EQ(skipped, skips);
    }

    ManagedSettings settings_;
};

TEST_F(DeviceTorchSuite, PassesOnFourRanks) { play_list("4_ranks", 4, 0); }
// Two of them want CUDA, also with real gloo.
TEST_F(DeviceTorchSuite, PassesOnEightRanks) { play_list("8_ranks", 8, 2); }

TEST_F(DeviceTorchSuite, PassesOverNcclOnSimulatedGpus) {
    auto variables = variables_of({.count = 4});
    if (!variables) GTEST_SKIP() << variables.error().text();
    settings_.variables = std::move(*variables);
    settings_.command.environment["BACKEND"] = "nccl";
    const char* how_many = std::getenv("DEADRANK_TORCH_SUITE");
    const bool all = how_many && std::string_view(how_many) == "all";
    play_list("nccl_4_ranks", 4, 0, all ? 1 : 10);
}

}  // namespace
}  // namespace deadrank::runners
