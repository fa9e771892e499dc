// tests/inject/standin/simulated_gpus_test.cpp — Goal: a program for GPUs computes on the stand-in what it
// computes on the CPU, and what cannot be computed raises an error that names it. Nothing is wrong in
// silence.
#include <gmock/gmock.h>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/inject/standin/torch_here.h"
#include "tests/support/shell.h"

namespace deadrank::tests {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

const std::string scripts = DEADRANK_SOURCE_DIRECTORY "/tests/standin/";

// The command line of a Python program with simulated GPUs.
std::string on_gpus(const std::string& program, const std::string& environment = {}) {
    const std::string at = standin_libraries.string();
    return "OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=1 LD_LIBRARY_PATH=" + at +
           " LD_PRELOAD=" + preloaded_libraries() + " PYTHONPATH=" + operators.string() +
           (environment.empty() ? "" : " " + environment) + " /usr/bin/timeout 300 " +
           python_with_torch().string() + " " + program;
}
std::string on_cpu(const std::string& program) {
    return "OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=1 timeout 300 " + python_with_torch().string() + " " +
           program;
}

// Each line is an object with the numbers of one program.
std::map<std::string, json> numbers_of(const std::string& command) {
    const Answer answer = shell("{ " + command + "; } 2>/dev/null");
    std::map<std::string, json> numbers;
    std::istringstream lines(answer.out);
    for (std::string line; std::getline(lines, line);) {
        const json one = json::parse(line, nullptr, false);
        if (!one.is_object()) continue;
        for (const auto& [name, values] : one.items()) numbers[name] = values;
    }
    EXPECT_EQ(answer.code, 0) << command;
    return numbers;
}

class DeviceSimulatedGpus : public testing::Test {
protected:
    void SetUp() override {
        if (const std::string missing = why_no_torch(); !missing.empty()) GTEST_SKIP() << missing;
    }
};

TEST_F(DeviceSimulatedGpus, HaveTheCpusLossesToTheLastDigit) {
    const auto wanted = numbers_of(on_cpu(scripts + "gpu_training.py --device cpu"));
    const auto found = numbers_of(on_gpus(scripts + "gpu_training.py", "DEADRANK_OPERATORS_RNG=cpu"));
    EXPECT_EQ(wanted.size(), 12u);
    EXPECT_EQ(found, wanted);
}

TEST_F(DeviceSimulatedGpus, TrainInParallelOverTorchsOwnNcclGroup) {
    const std::string program = "-m torch.distributed.run --standalone --nproc-per-node 2 " + scripts +
                                "gpu_training_ranks.py --device ";
    const auto wanted = numbers_of(on_cpu(program + "cpu")), found = numbers_of(on_gpus(program + "cuda"));
    EXPECT_EQ(wanted.size(), 4u);
    EXPECT_EQ(found, wanted);
}

TEST_F(DeviceSimulatedGpus, ComputeTorchsOperatorDatabaseWithoutAWrongValue) {
    const Answer answer = shell(on_gpus(scripts + "operator_database.py"));
    EXPECT_EQ(answer.code, 0) << answer.out;
    EXPECT_THAT(answer.out,
                AllOf(HasSubstr(" 697 entries,"), HasSubstr(" 0 wrong,"), HasSubstr(" 5 refused,")));
}

TEST_F(DeviceSimulatedGpus, ComputeTheOperatorDatabaseOfANewerTorch) {
    if (const std::string missing = why_no_newer_torch(); !missing.empty()) GTEST_SKIP() << missing;
    const Answer answer = shell(on_gpus(scripts + "operator_database.py",
                                        "PYTHONPATH=" + operators.string() + ":" + newer_torch().string()));
    EXPECT_EQ(answer.code, 0) << answer.out;
    EXPECT_THAT(answer.out, AllOf(HasSubstr("torch 2.15.0"), HasSubstr(" 0 wrong,")));
}

// A build for CUDA 12 loads the other runtime, with that release's structs.
class DeviceSimulatedGpusOfCuda12 : public testing::Test {
protected:
    void SetUp() override {
        if (const std::string missing = why_no_torch_of_cuda12(); !missing.empty()) GTEST_SKIP() << missing;
    }
    static std::string path() {
        return "PYTHONPATH=" + operators.string() + ":" + torch_of_cuda12().string();
    }
};

TEST_F(DeviceSimulatedGpusOfCuda12, ComputeTheOperatorDatabaseWithoutAWrongValue) {
    const Answer answer = shell(on_gpus(scripts + "operator_database.py", path()));
    EXPECT_EQ(answer.code, 0) << answer.out;
    EXPECT_THAT(answer.out, AllOf(HasSubstr("torch 2.8.0"), HasSubstr(" 0 wrong,")));
}

TEST_F(DeviceSimulatedGpusOfCuda12, HaveTheCpusLossesToTheLastDigit) {
    const auto wanted = numbers_of("PYTHONPATH=" + torch_of_cuda12().string() + " " +
                                   on_cpu(scripts + "gpu_training.py --device cpu"));
    const auto found =
        numbers_of(on_gpus(scripts + "gpu_training.py", path() + " DEADRANK_OPERATORS_RNG=cpu"));
    EXPECT_EQ(wanted.size(), 12u);
    EXPECT_EQ(found, wanted);
}

TEST_F(DeviceSimulatedGpusOfCuda12, TrainInParallelOverTorchsOwnNcclGroup) {
    const std::string program = "-m torch.distributed.run --standalone --nproc-per-node 2 " + scripts +
                                "gpu_training_ranks.py --device ";
    auto wanted = numbers_of("PYTHONPATH=" + torch_of_cuda12().string() + " " + on_cpu(program + "cpu"));
    auto found = numbers_of(on_gpus(program + "cuda", path()));
    EXPECT_EQ(wanted.size(), 4u);
    ASSERT_EQ(found.size(), 4u);
    // Gloo of torch 2.8 sums where reduce_scatter_tensor shall average, so FSDP on the CPU is no measure
    // there.
    EXPECT_EQ(found["fully_sharded"][0], found["data_parallel"][0]);
    for (const char* name : {"fully_sharded", "fully_sharded_bf16"}) wanted.erase(name), found.erase(name);
    EXPECT_EQ(found, wanted);
}

// A graph is captured eagerly and played again: on one GPU, and with torch's own NCCL group inside the graph.
TEST_F(DeviceSimulatedGpus, ReplayACapturedGraphAsTheStepsItWasMadeOf) {
    const json all{{"losses", true},     {"fall", true},
                   {"state", true},      {"capture changes nothing", true},
                   {"draws anew", true}, {"graphed callable", true}};
    EXPECT_EQ(numbers_of(on_gpus(scripts + "gpu_graphs.py")), (std::map<std::string, json>{{"rank 0", all}}));
    const std::string two = "-m torch.distributed.run --standalone --nproc-per-node 2 ";
    EXPECT_EQ(numbers_of(on_gpus(two + scripts + "gpu_graphs.py")),
              (std::map<std::string, json>{{"rank 0", all}, {"rank 1", all}}));
}

// Where kernels do nothing, the same comparison finds wrong values: it can fail.
TEST_F(DeviceSimulatedGpus, AreCheckedByAComparisonThatCanFail) {
    const Answer answer = shell(on_gpus(scripts + "operator_database.py --only mul",
                                        "DEADRANK_OPERATORS=off DEADRANK_STANDIN_LENIENT=1"));
    EXPECT_EQ(answer.code, 1) << answer.out;
    EXPECT_THAT(answer.out,
                AllOf(HasSubstr("wrong  mul: forward"), HasSubstr("has no host version and does nothing")));
}

TEST_F(DeviceSimulatedGpus, ComputeTheSlowerWayWithoutACompiler) {
    const std::string program =
        scripts + "gpu_training.py --only convolutions --only perceptron_with_batch_norm --device ";
    const std::string without = "XDG_CACHE_HOME=$(mktemp -d) CXX=no-compiler PATH=/nonexistent";
    const Answer answer = shell(on_gpus(program + "cuda", without) + " 2>&1 >/dev/null");
    EXPECT_THAT(answer.out,
                HasSubstr("deadrank: No C++ compiler is installed (g++, or another in CXX). Operators "
                          "of cuda tensors run the slower way, about 40 µs each."));
    const auto wanted = numbers_of(on_cpu(program + "cpu")),
               found = numbers_of(on_gpus(program + "cuda", without));
    EXPECT_EQ(wanted.size(), 2u);
    EXPECT_EQ(found, wanted);
}

TEST_F(DeviceSimulatedGpus, RefuseByNameWhatTheyCannotCompute) {
    const Answer answer = shell("{ " + on_gpus(scripts + "gpu_refusals.py") + "; } 2>/dev/null");
    const json said = json::parse(answer.out, nullptr, false);
    ASSERT_TRUE(said.is_object()) << answer.out;
    const std::map<std::string, std::string> expected{
        {"add host",
         "RuntimeError: Expected all tensors to be on the same device, but found at least two devices, "
         "cuda:0 and "
         "cpu!"},
        {"add device",
         "RuntimeError: Expected all tensors to be on the same device, but found at least two devices, "
         "cuda:0 and "
         "cuda:1!"},
        {"product",
         "RuntimeError: Expected all tensors to be on the same device, but got mat2 is on cpu, different "
         "from other "
         "tensors on cuda:0 (when checking argument in method wrapper_CUDA_mm)"},
        {"index of host",
         "RuntimeError: indices should be either on cpu or on the same device as the indexed tensor (cpu)"},
        {"target", "RuntimeError: Expected all tensors to be on the same device, but got target is on cpu"},
        {"lists", "RuntimeError: Expected all tensors to be on the same device"},
        {"flash_attn",
         "HiddenPackage: deadrank: flash_attn brings kernels for GPUs, which cannot run on a simulated one."},
        {"apex", "HiddenPackage: deadrank: apex brings kernels for GPUs"},
        {"transformer_engine", "HiddenPackage: deadrank: transformer_engine brings kernels for GPUs"},
        {"only on CUDA", "NotImplementedError: deadrank: aten::_flash_attention_forward has no CPU kernel"},
        {"quantized",
         "NotImplementedError: deadrank: quantized cuda tensors cannot be computed on the host."},
        {"value of a graph",
         "AcceleratorError: CUDA error: operation not permitted when stream is capturing"},
        {"shared between processes",
         "AcceleratorError: CUDA error: operation not supported (deadrank: cudaIpcGetMemHandle is not there "
         "without "
         "a GPU; share CPU tensors between processes)"},
        {"memory",
         "OutOfMemoryError: CUDA out of memory. Tried to allocate 256.00 GiB. GPU 0 has a total capacity of "
         "16.00 "
         "GiB of which "},
    };
    for (const auto& [name, text] : expected) EXPECT_THAT(said.value(name, ""), StartsWith(text)) << name;
    for (const char* name : {"scalars of the host", "indices of the host", "copies", "mask of the host",
                             "operator of a package"})
        EXPECT_EQ(said.value(name, ""), "no error") << name;
    EXPECT_EQ(said["visible"], "None") << "programs that probe for a package must not find it";
    EXPECT_EQ(said["after"], json({7.0, 7.0, 7.0, 7.0}));
}

TEST_F(DeviceSimulatedGpus, RunTritonKernelsByTritonsInterpreter) {
    const std::string looks = " -c 'import importlib.util, sys; sys.exit(not importlib.util.find_spec(\"triton\"))'";
    if (shell(python_with_torch().string() + looks).code != 0) GTEST_SKIP() << "no Triton: ./dev tools --frameworks";
    const Answer answer = shell("{ " + on_gpus(scripts + "gpu_triton.py", "TRITON_INTERPRET=1") + "; } 2>&1");
    EXPECT_EQ(answer.code, 0) << answer.out;
    EXPECT_THAT(answer.out, HasSubstr("9 kernels gave what torch gives"));
}

// The sizes: 3 blocks of 1 GiB fit beside torch's own small ones.
void expect_devices_and_memory(const std::string& environment) {
    const Answer answer =
        shell("{ " +
              on_gpus(scripts + "gpu_devices.py",
                      "DEADRANK_STANDIN_MEMORY=4096 DEADRANK_STANDIN_DEVICES=12" + environment) +
              "; } 2>/dev/null");
    const json said = json::parse(answer.out, nullptr, false);
    ASSERT_TRUE(said.is_object()) << answer.out;
    EXPECT_EQ(said["devices"], 12);
    const json copy = {{1.0, 1.0, 1.0, 1.0}, {0.0, 1.0, 2.0, 3.0}};
    EXPECT_EQ(said["broadcast"], json({copy, copy, copy}));
    EXPECT_EQ(said["data parallel"], true);
    EXPECT_EQ(said["gradient"], json({"cuda:0", {2.0, 2.0, 2.0, 2.0}}));
    EXPECT_THAT(
        said["full"].get<std::string>(),
        StartsWith("CUDA out of memory. Tried to allocate 1024.00 MiB. GPU 0 has a total capacity of 4.00 "
                   "GiB of which "));
    EXPECT_EQ(said["blocks"], 3);
    EXPECT_EQ(said["statistic"], 1);
    EXPECT_EQ(said["other device"], json({1.0, 1.0, 1.0}));
    EXPECT_EQ(said["afterwards"], 5);
    for (const char* name : {"CPU's sequence goes on", "restored", "moves on"})
        EXPECT_EQ(said[name], true) << name;
}

TEST_F(DeviceSimulatedGpus, ReachEachOtherAndRunOutOfMemoryAsTorchReportsIt) {
    expect_devices_and_memory("");
}

TEST_F(DeviceSimulatedGpus, GrowSegmentsInReservedRanges) {
    expect_devices_and_memory(" PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True");
}

// A list's all_gather copies after the collective. If the host waited there, torch's watchdog would never
// learn of the call.
TEST_F(DeviceSimulatedGpus, LeaveToABusyStreamWhatOnlyWrites) {
    const auto said = numbers_of(
        on_gpus("-m torch.distributed.run --standalone --nproc-per-node 2 " + scripts + "gpu_late_peer.py"));
    ASSERT_EQ(said.size(), 3u);
    const json& times = said.at("times");
    for (const char* name : {"all_gather", "in place", "copy to pinned memory"})
        EXPECT_LT(times[name], 1.0) << name;
    EXPECT_GT(times["synchronize"], 1.0);
    EXPECT_EQ(said.at("early"), json({0.0, 0.0, 0.0, 0.0})) << "nothing has come yet";
    EXPECT_EQ(said.at("late"), json({3.0, 3.0, 3.0, 3.0}));
}

// 2 · 1024³ operations at 67 Tflop/s are 32.05 µs, and a launch is 4 µs of the host.
TEST_F(DeviceSimulatedGpus, KeepStreamsInVirtualTimeAfterAFork) {
    const Answer answer = shell(
        "{ " +
        on_gpus(scripts + "gpu_virtual_time.py", "DEADRANK_STANDIN_GPU=h100 DEADRANK_STANDIN_DEVICES=16") +
        "; } 2>/dev/null");
    std::istringstream lines(answer.out);
    std::string first, second;
    std::getline(lines, first);
    std::getline(lines, second);
    EXPECT_EQ(first, second) << "two children of one process";
    const json said = json::parse(first, nullptr, false);
    ASSERT_TRUE(said.is_object()) << answer.out;
    EXPECT_EQ(said["one"], json({4.0, 36.051}));
    EXPECT_EQ(said["both here"], json({8.0, 68.102})) << "one stream works in order";
    EXPECT_EQ(said["on two streams"], json({8.0, 40.051})) << "two streams overlap";
    EXPECT_EQ(said["one waits for the other"], json({8.0, 68.102}));
    EXPECT_EQ(said["polled"], json({36.1, 36.1})) << "a query costs the host 0.1 µs";
    EXPECT_EQ(said["a value"][0], said["a value"][1]) << "item() waits for the stream";
    EXPECT_EQ(said["between events"], 36.051);
    EXPECT_EQ(said["value"], 1024.0);
    EXPECT_EQ(said["threads"], 1);
    EXPECT_EQ(said["device"], json({"NVIDIA H100 80GB HBM3 (deadrank)", {9, 0}, 16}));
    EXPECT_EQ(said["memory"], 81559);
}

}  // namespace
}  // namespace deadrank::tests
