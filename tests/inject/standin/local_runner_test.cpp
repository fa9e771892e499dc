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
              "--no-control --no-heal --json --subject " +
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
    EXPECT_EQ(said["stood"]["says"], "rank 1 is called the root cause; it was rank 0") << answer.out;
}

// Where there is CUDA, DistributedDataParallel's buckets are seen by a communication hook of ours, which
// keeps replicas equal as torch's own does.
TEST(DeviceLocalRunnerOnTheStandIn, SeesReplicasThatAreReducedByNccl) {
    if (const std::string why = why_no_torch(); !why.empty()) GTEST_SKIP() << why;
    const fs::path folder =
        fs::temp_directory_path() / ("deadrank-standin-watch-" + std::to_string(::getpid()));
    fs::create_directories(folder);
    const std::string at = standin_libraries.string();
    const Answer answer = shell(
        "DEADRANK_STANDIN_LENIENT=1 CUDA_VISIBLE_DEVICES=0,1 LD_LIBRARY_PATH=" + at + " LD_PRELOAD=" + at +
        "/libcudart.so.13:" + at + "/libnccl.so.2 " DEADRANK_BINARY_DIRECTORY "/deadrank watch -q --record " +
        (folder / "kept").string() + " -- " + python_with_torch().string() +
        " -m torch.distributed.run --standalone --nproc-per-node 2 " DEADRANK_SOURCE_DIRECTORY
        "/tests/standin/replicas_train.py 2>&1");
    std::ifstream file(folder / "kept/evidence.jsonl");
    const std::string evidence{std::istreambuf_iterator<char>(file), {}};
    fs::remove_all(folder);
    EXPECT_EQ(answer.code, 0) << answer.out;
    EXPECT_THAT(evidence, HasSubstr("\"kind\":\"parameters.digest\"")) << answer.out;
}

}  // namespace
}  // namespace deadrank::tests
