// tests/inject/standin/local_runner_test.cpp — Goal: a scenario is played in real processes over torch's own
// nccl process group, where no GPU is, and judged by what its watchdog said.
#include <algorithm>
#include <fstream>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "tests/inject/standin/torch_here.h"
#include "tests/support/shell.h"

namespace deadrank::tests {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::HasSubstr;

// The manifest of tests/standin, for any build directory.
fs::path manifest_here(const fs::path& folder) {
    const fs::path there = fs::path(DEADRANK_SOURCE_DIRECTORY) / "tests/standin";
    std::ifstream file(there / "nccl.toml");
    std::string text{std::istreambuf_iterator<char>(file), {}};
    const auto say = [&](const std::string& word, const std::string& instead) {
        for (std::size_t at = text.find(word); at != std::string::npos;
             at = text.find(word, at + instead.size()))
            text.replace(at, word.size(), instead);
    };
    say("build/standin", standin_libraries.string());
    say("\"nccl_train.py\"", "\"" + (there / "nccl_train.py").string() + "\"");
    std::ofstream(folder / "nccl.toml") << text;
    return folder / "nccl.toml";
}

// A finding: the rank that left out a reduction ends well, the other one waits, and is called the root cause.
TEST(DeviceLocalRunnerOnTheStandIn, HearsTheRealWatchdogAndSeesWhomTheLauncherBlames) {
    if (const std::string why = why_no_torch(); !why.empty()) GTEST_SKIP() << why;
    const fs::path folder =
        fs::temp_directory_path() / ("deadrank-standin-local-" + std::to_string(::getpid()));
    fs::create_directories(folder);
    const Answer answer =
        shell("DEADRANK_PYTHON=" + python_with_torch().string() +
              " " DEADRANK_BINARY_DIRECTORY
              "/deadrank run communication/one_rank_skips_a_bucket --runner local --ranks 2 "
              "--no-control --no-heal --json --trust --subject " +
              manifest_here(folder).string() + " 2>" + (folder / "errors").string());
    fs::remove_all(folder);
    const json said = json::parse(answer.out, nullptr, false);
    ASSERT_TRUE(said.is_object()) << answer.out;
    // The replicas that part in the step of the fault are told beside it.
    const auto& found = said["findings"];
    const auto timeout = std::find_if(found.begin(), found.end(), [](const json& one) {
        return one["symptom"] == "collective_timeout_abort";
    });
    ASSERT_NE(timeout, found.end()) << answer.out;
    EXPECT_THAT((*timeout)["says"].get<std::string>(),
                HasSubstr("Watchdog caught collective operation timeout"));
    EXPECT_EQ(said["stood"]["says"], "the job's report calls rank 1 the root cause; it was rank 0")
        << answer.out;
}

// Where there is CUDA, DistributedDataParallel's buckets are seen by a communication hook of ours, which
// keeps replicas equal as torch's own does.
TEST(DeviceLocalRunnerOnTheStandIn, SeesReplicasThatAreReducedByNccl) {
    if (const std::string why = why_no_torch(); !why.empty()) GTEST_SKIP() << why;
    const fs::path folder =
        fs::temp_directory_path() / ("deadrank-standin-watch-" + std::to_string(::getpid()));
    fs::create_directories(folder);
    const Answer answer =
        shell(DEADRANK_BINARY_DIRECTORY "/deadrank watch --gpus 2 --record " + (folder / "kept").string() +
              " -- " + python_with_torch().string() +
              " -m torch.distributed.run --standalone --nproc-per-node 2 " DEADRANK_SOURCE_DIRECTORY
              "/tests/standin/replicas_train.py 2>&1");
    std::ifstream file(folder / "kept/evidence.jsonl");
    const std::string evidence{std::istreambuf_iterator<char>(file), {}};
    fs::remove_all(folder);
    EXPECT_EQ(answer.code, 0) << answer.out;
    EXPECT_THAT(evidence, HasSubstr("\"kind\":\"parameters.digest\"")) << answer.out;
}

// A program for GPUs, unchanged, is put under test by one option. Its watchdog is that of torch's own nccl
// group.
TEST(DeviceLocalRunnerOnTheStandIn, PutsAProgramForGpusUnderTest) {
    if (const std::string why = why_no_torch(); !why.empty()) GTEST_SKIP() << why;
    const Answer answer = shell("DEADRANK_PYTHON=" + python_with_torch().string() +
                                " " DEADRANK_BINARY_DIRECTORY
                                "/deadrank run communication/rank_leaves_all_reduce --runner local --ranks 2 "
                                "--gpus 2 --json --no-heal -- "
                                "torchrun --nproc-per-node 2 " DEADRANK_SOURCE_DIRECTORY
                                "/tests/standin/replicas_train.py 2>/dev/null");
    const json said = json::parse(answer.out, nullptr, false);
    ASSERT_TRUE(said.is_object()) << answer.out;
    EXPECT_THAT(said["runner"].get<std::string>(), HasSubstr("--ranks 2 --gpus 2 -- torchrun"));
    EXPECT_EQ(said["control"], "pass") << answer.out;
    EXPECT_EQ(said["stood"]["response"], "clear_error") << answer.out;
}

TEST(DeviceLocalRunnerOnTheStandIn, ReportsWhatTheInstalledTorchDoesOnSimulatedGpus) {
    if (const std::string why = why_no_torch(); !why.empty()) GTEST_SKIP() << why;
    const std::string doctor = "DEADRANK_PYTHON=" + python_with_torch().string() +
                               " " DEADRANK_BINARY_DIRECTORY "/deadrank doctor --gpus ";
    const Answer answer = shell(doctor + "12 --gpu a100 2>&1");
    EXPECT_EQ(answer.code, 0) << answer.out;
    EXPECT_THAT(answer.out,
                HasSubstr("12 GPUs, NVIDIA A100-SXM4-80GB (deadrank), 80.0 GiB, capability 8.0\n"));
    EXPECT_THAT(answer.out, HasSubstr("\n  checked    a training step with AdamW has the CPU's loss"));
    EXPECT_EQ(shell(doctor + "12 --gpu h200 2>&1").code, 64);
}

}  // namespace
}  // namespace deadrank::tests
