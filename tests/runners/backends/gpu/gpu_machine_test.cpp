// tests/runners/backends/gpu/gpu_machine_test.cpp — Goal: what this machine has for a GPU job is found and
// said; where it is not enough, the answer is a sentence.
#include "runners/backends/gpu/gpu_machine.h"

#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "runners/backends/gpu/gpu_runner.h"
#include "runners/backends/process/scratch.h"
#include "runners/backends/ranks/play.h"
#include "tests/runners/backends/ranks/rank_job.h"
#include "tests/support/shell.h"

namespace deadrank::runners {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing_ranks::resolved;
using testing_ranks::small_job;

// Goal: without a GPU, and without having asked for the drop-in, the answer is a sentence and no verdict.
TEST(GpuRunnerRefuses, AMachineWithoutAGpu) {
    unsetenv(standin_variable);
    if (find_gpus()) GTEST_SKIP() << "this machine has a GPU";
    GpuRunner runner;
    const auto refused = runner.run(resolved(small_job(), runner.capabilities()), {});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, scenarios::ErrorCode::environment);
    EXPECT_THAT(refused.error().text(), HasSubstr("GPU"));
    EXPECT_THAT(refused.error().text(), HasSubstr("DEADRANK_STANDIN=1"));
}

TEST(GpuRunnerRefuses, ADirectoryThatHoldsNoDropIn) {
    setenv(standin_variable, "/nonexistent", 1);
    const auto found = find_gpus();
    unsetenv(standin_variable);
    ASSERT_FALSE(found);
    EXPECT_THAT(found.error().text(), HasSubstr("/nonexistent"));
}

// Goal: the drop-in comes before what the user's own search path holds.
TEST(GpuMachine, FindsTheDropInWhateverTheLoaderIsTold) {
    if (program_beside("standin/libnccl.so.2").empty()) GTEST_SKIP() << "this build has no drop-in for NCCL";
    const char* own = std::getenv("LD_LIBRARY_PATH");
    const std::string before = own ? own : "";
    setenv("LD_LIBRARY_PATH", "/nonexistent", 1);
    setenv(standin_variable, "1", 1);
    const auto found = find_gpus();
    unsetenv(standin_variable);
    own ? setenv("LD_LIBRARY_PATH", before.c_str(), 1) : unsetenv("LD_LIBRARY_PATH");
    ASSERT_TRUE(found) << found.error().text();
    EXPECT_TRUE(found->standin);
}

// Goal: a fault that no peer would notice is refused, not played without effect.
TEST(GpuMachine, LetsARankClaimAReleaseOnlyWhereItsPeersHearIt) {
    const GpuMachine old{.nccl = "2.28.9"};
    EXPECT_TRUE(RealLevers(reach_of(old), 4, 2, 0).pull(inject::SetVersion{0, "nccl", "2.27.7"}));
    const GpuMachine recent{.nccl = "2.30.7", .claims_heard = false, .further_releases = {"2.28.9"}};
    RealLevers levers(reach_of(recent), 4, 2, 0);
    EXPECT_TRUE(levers.pull(inject::SetVersion{0, "nccl", "2.28.9"})) << "it is here";
    const auto refused = levers.pull(inject::SetVersion{0, "nccl", "2.27.7"});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, scenarios::ErrorCode::unsupported);
    EXPECT_THAT(refused.error().text(), HasSubstr("DEADRANK_NCCL_PATH"));
}

// Goal: our kernels fill, sum up and flip what they should, and NVIDIA's compiler takes them.
TEST(GpuKernels, ComputeAndCheckOnTheDropIn) {
    const fs::path program = program_beside("deadrank-gpu-rank");
    const fs::path standin = program_beside("standin/libnccl.so.2").parent_path();
    if (program.empty() || standin.empty()) GTEST_SKIP() << "this build has no drop-in for NCCL";
    const auto said =
        tests::shell(fmt::format("LD_LIBRARY_PATH={} {} kernels", standin.string(), program.string()));
    EXPECT_EQ(said.code, 0) << said.out;
    EXPECT_THAT(said.out, HasSubstr("{\"fill\":true,\"flip\":true,\"digest\":true,\"trouble\":\"\""));
}

TEST(GpuKernels, AreTakenByTheCompilerForAGpu) {
    const fs::path program = program_beside("deadrank-gpu-rank");
    if (program.empty()) GTEST_SKIP() << "this build has no program for the ranks of a GPU job";
    const auto said = tests::shell(program.string() + " kernels");
    if (said.out.find("no libnvrtc.so") != std::string::npos) GTEST_SKIP() << "no libnvrtc here";
    EXPECT_THAT(said.out, HasSubstr("bytes of PTX")) << said.out;
}

// Goal: a rank can be given another release that lies somewhere on this machine.
TEST(GpuProbe, NamesTheReleasesThatADirectoryHolds) {
    const fs::path program = program_beside("deadrank-gpu-rank");
    if (program.empty()) GTEST_SKIP() << "this build has no program for the ranks of a GPU job";
    const fs::path standin = program_beside("standin/libnccl.so.2").parent_path();
    if (standin.empty()) GTEST_SKIP() << "this build has no drop-in for NCCL";
    const auto said = tests::shell(
        fmt::format("DEADRANK_NCCL_PATH=/nonexistent:{} {} probe", standin.string(), program.string()));
    EXPECT_THAT(said.out, HasSubstr("\"further_releases\":{\"2."));
    EXPECT_THAT(said.out, HasSubstr(standin.string() + "/libnccl.so.2"));
    const auto drop_in =
        tests::shell(fmt::format("LD_LIBRARY_PATH={} {} probe", standin.string(), program.string()));
    EXPECT_THAT(drop_in.out, HasSubstr("\"claims_heard\":true"));
}

}  // namespace
}  // namespace deadrank::runners
