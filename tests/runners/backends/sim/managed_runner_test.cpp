// tests/runners/backends/sim/managed_runner_test.cpp — Unmodified programs of PyTorch on the simulated
// cluster: what they compute, what faults do to them, and what this machine's troubles do not.
#include "runners/backends/sim/managed_runner.h"

#include <csignal>
#include <fstream>
#include <gmock/gmock.h>
#include <set>
#include <thread>

#include "inject/standin/device/gpu_model.h"
#include "results/detectors/detector.h"
#include "results/record/evidence.h"
#include "runners/backends/process/mpirun.h"
#include "runners/backends/process/scratch.h"
#include "runners/backends/process/simulated_gpus.h"
#include "runners/backends/sim/accelerate_launch.h"
#include "runners/backends/sim/launch_command.h"
#include "scenarios/model/python_program.h"
#include "tests/support/shell.h"

namespace deadrank::runners {
namespace {

using results::RankExit;
using testing::Contains;
using testing::HasSubstr;

constexpr const char* data_parallel = R"(
import sys, torch, torch.distributed as dist, torch.nn as nn
dist.init_process_group(sys.argv[1])
torch.manual_seed(1)
model = nn.parallel.DistributedDataParallel(nn.Linear(8, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
data = torch.Generator().manual_seed(100 + dist.get_rank())
for step in range(6):
    loss = model(torch.randn(4, 8, generator=data)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("loss %.6f" % loss.item())
dist.destroy_process_group()
)";

class DeviceManagedRanks : public testing::Test {
protected:
    static void SetUpTestSuite() { warm_ = std::make_shared<WarmPython>(); }
    static void TearDownTestSuite() { warm_.reset(); }

    void SetUp() override {
        const auto python = best_python();
        if (!python) GTEST_SKIP() << python.error().text();
        auto scratch = Scratch::make("", {});
        ASSERT_TRUE(scratch) << scratch.error().text();
        scratch_.emplace(std::move(*scratch));
        settings_.python = python->program;
        settings_.package = std::filesystem::path(DEADRANK_SOURCE_DIRECTORY) / "sim/managed/python";
        settings_.hook = std::filesystem::path(DEADRANK_SOURCE_DIRECTORY) / "runners/backends/local/hook";
        settings_.directory = scratch_->path();
        settings_.warm = warm_;
    }

    scenarios::Result<Record> play(const std::string& text, std::vector<std::string> arguments,
                                   const std::vector<scenarios::FaultSpec>& faults = {},
                                   std::int64_t ranks = 4) {
        std::ofstream(scratch_->path() / "train.py") << text;
        settings_.command.launcher = launcher_;
        settings_.command.ranks_per_node = ranks;
        settings_.command.argv = {"train.py"};
        settings_.command.argv.insert(settings_.command.argv.end(), arguments.begin(), arguments.end());
        scenarios::Plan plan = plan_of(settings_.command, {1});
        plan.faults = faults;
        if (!fix_.empty()) plan.workload["fix"] = {.type = scenarios::ValueType::text, .text = fix_};
        ManagedRunner runner(settings_);
        return runner.run(plan, {});
    }

    static std::vector<std::string> lines(const Record& record, results::Rank rank) {
        std::vector<std::string> found;
        for (const results::Event* event : record.evidence.each<results::RankLog>())
            if (event->rank == rank)
                found.emplace_back(record.evidence.text(event->as<results::RankLog>()->line));
        return found;
    }

    static std::vector<int> codes(const Record& record) {
        std::vector<int> found;
        for (const results::Event* event : record.evidence.each<RankExit>())
            found.push_back(event->as<RankExit>()->code);
        return found;
    }

    static scenarios::FaultSpec fault(std::string kind, std::int64_t rank, std::int64_t step) {
        scenarios::FaultSpec spec;
        spec.kind = std::move(kind);
        scenarios::Value ranks;
        ranks.type = scenarios::ValueType::ranks;
        ranks.list = {rank};
        spec.parameters["rank"] = ranks;
        spec.when.step = step;
        spec.when.before = "all_reduce";
        return spec;
    }

    static scenarios::FaultSpec at_call(std::string kind, std::int64_t rank, std::int64_t nth) {
        scenarios::FaultSpec spec = fault(std::move(kind), rank, -1);
        spec.when.nth = nth;
        return spec;
    }

    ManagedSettings settings_;
    std::string fix_;  // of installed packages
    scenarios::LauncherKind launcher_ = scenarios::LauncherKind::torchrun;
    std::optional<Scratch> scratch_;
    static std::shared_ptr<WarmPython> warm_;
};

std::shared_ptr<WarmPython> DeviceManagedRanks::warm_;

TEST_F(DeviceManagedRanks, TrainAlikeUnderBothLibrariesAndInEachRun) {
    const auto nccl = play(data_parallel, {"nccl"}), again = play(data_parallel, {"nccl"});
    const auto gloo = play(data_parallel, {"gloo"});
    ASSERT_TRUE(nccl && again && gloo);
    EXPECT_THAT(codes(*nccl), testing::Each(0));
    EXPECT_EQ(codes(*nccl).size(), 4U);
    EXPECT_EQ(nccl->trace_hash, again->trace_hash);
    EXPECT_EQ(lines(*nccl, 0), lines(*again, 0));
    EXPECT_THAT(lines(*nccl, 3), Contains(HasSubstr("loss ")));
    const auto loss = [](const Record& record) {
        for (const std::string& line : lines(record, 2))
            if (line.starts_with("loss")) return line;
        return std::string("none");
    };
    EXPECT_EQ(loss(*nccl), loss(*gloo));
}

// No barrier orders what the ranks do to the files here.
constexpr const char* shares_files = R"(
import os, subprocess, sys, threading, time, torch, torch.distributed as dist
dist.init_process_group("gloo")
rank = dist.get_rank()
os.makedirs("out", exist_ok=True)
for step in range(6):
    torch.randn(120, 120).matmul(torch.randn(120, 120))
    if rank == step % 4: torch.save(torch.ones(3), f"out/{step}.pt")
    seen = sorted(os.listdir("out"))
    if rank == 3: open(f"out/note{step}", "w").write("a" * (rank + step))
    found = os.path.exists(f"out/note{step}")
    if rank == 2 and step == 3: subprocess.run(["touch", "out/child"])
    if rank == 1:
        thread = threading.Thread(target=lambda: os.rename("out/0.pt", "out/moved") if step == 4 else None)
        thread.start()
        thread.join()
    print(step, seen, found)
    total = torch.tensor([float(len(seen) + found)])
    dist.all_reduce(total)
    print(total.item())
while not os.path.exists("out/5.pt"): time.sleep(0.1)
)";

TEST_F(DeviceManagedRanks, GiveOneTraceHoweverManyComputeAtOnce) {
    if (files_shim().empty()) GTEST_SKIP() << "libdeadrank-files.so was not built (sanitizers)";
    std::set<std::uint64_t> healthy, killed;
    std::set<std::vector<std::string>> printed;
    for (const int at_once : {1, 2, 4, 8, 8}) {
        settings_.at_once = at_once;
        const auto record = play(shares_files, {});
        ASSERT_TRUE(record) << record.error().text();
        EXPECT_THAT(codes(*record), testing::Each(0));
        healthy.insert(record->trace_hash);
        printed.insert(lines(*record, 1));
        const auto with_fault = play(shares_files, {}, {at_call("kill_rank", 2, 3)});
        ASSERT_TRUE(with_fault) << with_fault.error().text();
        killed.insert(with_fault->trace_hash);
    }
    EXPECT_EQ(healthy.size(), 1U);
    EXPECT_EQ(killed.size(), 1U);
    EXPECT_EQ(printed.size(), 1U);
}

TEST_F(DeviceManagedRanks, AreKilledBeforeACallAndTheirPeersWait) {
    const auto record = play(data_parallel, {"nccl"}, {fault("kill_rank", 2, 3)});
    ASSERT_TRUE(record) << record.error().text();
    EXPECT_THAT(codes(*record), Contains(-9));
    EXPECT_TRUE(record->truth.took_place());
    EXPECT_THAT(lines(*record, 0), Contains(HasSubstr("train.py\", line 11")));  // where it waited
}

// A bare launcher ends nobody: the ranks wait until the end of the run.
TEST_F(DeviceManagedRanks, AreFoundAtTheLineOfTheProgramThatTheyWaitIn) {
    launcher_ = scenarios::LauncherKind::bare;
    settings_.command.environment["TORCH_NCCL_ASYNC_ERROR_HANDLING"] = "0";
    const auto record = play(data_parallel, {"nccl"}, {fault("kill_rank", 2, 3)});
    ASSERT_TRUE(record) << record.error().text();
    std::string said;
    for (const results::Finding& finding : results::detect(record->evidence, results::all_detectors()))
        said += finding.says + "\n";
    EXPECT_THAT(said, HasSubstr("ranks 0,1,3 waited at train.py:11 loss.backward()"));
}

// A rank that is killed at a call has done nothing beyond it, and what it has printed before is there.
TEST_F(DeviceManagedRanks, ThatAreKilledAtACallDoNothingBeyondIt) {
    settings_.keep_files = true;
    for (int i = 0; i < 5; ++i) {
        const auto record = play(
            "import torch, torch.distributed as dist\n"
            "dist.init_process_group('nccl')\n"
            "for step in range(4):\n"
            "    print('before', step, flush=True)\n"
            "    work = dist.all_reduce(torch.ones(4), async_op=True)\n"
            "    print('beyond', step, flush=True)\n"
            "    open(f'beyond-{dist.get_rank()}-{step}', 'w').close()\n"
            "    work.wait()\n",
            {}, {at_call("kill_rank", 1, 3)}, 2);
        ASSERT_TRUE(record) << record.error().text();
        EXPECT_THAT(lines(*record, 1), Contains("before 2"));
        EXPECT_THAT(lines(*record, 1), testing::Not(Contains("beyond 2")));
        EXPECT_TRUE(std::filesystem::exists(scratch_->path() / "beyond-1-1"));
        EXPECT_FALSE(std::filesystem::exists(scratch_->path() / "beyond-1-2"));
    }
}

TEST_F(DeviceManagedRanks, HearOfAClosedConnectionOverGloo) {
    const auto record = play(data_parallel, {"gloo"}, {fault("kill_rank", 1, 2)});
    ASSERT_TRUE(record) << record.error().text();
    EXPECT_THAT(lines(*record, 0), Contains(HasSubstr("Connection closed by peer")));
}

TEST_F(DeviceManagedRanks, AreEndedByTheWatchdogWhereACallIsLeftOut) {
    const auto record = play(data_parallel, {"nccl"}, {fault("skip_collective", 3, 2)});
    ASSERT_TRUE(record) << record.error().text();
    EXPECT_GE(record->ended, results::Time(600'000'000'000));
    EXPECT_THAT(lines(*record, 0), Contains(HasSubstr("Watchdog caught collective operation timeout")));
}

TEST_F(DeviceManagedRanks, CompareTheirCallsWhereTheUserAsksForDetail) {
    settings_.command.environment["TORCH_DISTRIBUTED_DEBUG"] = "DETAIL";
    const auto record = play(data_parallel, {"gloo"}, {fault("resize_collective", 1, 2)});
    ASSERT_TRUE(record) << record.error().text();
    EXPECT_THAT(lines(*record, 0), Contains(HasSubstr("mismatch")));
}

constexpr const char* for_gpus = R"(
import torch, torch.distributed as dist
dist.init_process_group("nccl")
device = torch.device("cuda", dist.get_rank())
torch.cuda.set_device(device)
x = torch.full((3,), dist.get_rank() + 1.0, device=device)
dist.all_reduce(x)
print(torch.cuda.get_device_name(0)[:12], (x @ x).item())
)";

TEST_F(DeviceManagedRanks, ComputeOnSimulatedGpus) {
    auto variables = variables_of({.count = 2});
    if (!variables) GTEST_SKIP() << variables.error().text();
    settings_.variables = *variables;
    settings_.warm = std::make_shared<WarmPython>();
    const auto record = play(for_gpus, {}, {}, 2);
    ASSERT_TRUE(record) << record.error().text();
    EXPECT_THAT(lines(*record, 1), Contains("NVIDIA H100  27.0"));
}

// Fails if a call of a captured group is made when it is captured, or is not made by each launch.
TEST_F(DeviceManagedRanks, MakeTheCallsOfACapturedGraphWithEachLaunch) {
    auto variables = variables_of({.count = 2});
    if (!variables) GTEST_SKIP() << variables.error().text();
    settings_.variables = *variables;
    settings_.warm = std::make_shared<WarmPython>();
    std::ifstream file(DEADRANK_SOURCE_DIRECTORY "/tests/standin/gpu_graphs.py");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const auto record = play(text, {}, {}, 2), again = play(text, {}, {}, 2);
    ASSERT_TRUE(record && again);
    for (const results::Rank rank : {0, 1})
        EXPECT_THAT(lines(*record, rank),
                    Contains(testing::AllOf(HasSubstr("\"losses\": true"), HasSubstr("\"state\": true"),
                                            testing::Not(HasSubstr("false")))));
    EXPECT_EQ(record->trace_hash, again->trace_hash);
    // Six parameters: 3 + 5 steps without a graph and 3 before the capture. The graph's fourth launch is the
    // 86th to 91st.
    const auto killed = play(text, {}, {at_call("kill_rank", 1, 86)}, 2);
    ASSERT_TRUE(killed) << killed.error().text();
    EXPECT_THAT(lines(*killed, 0), Contains(HasSubstr("graph.replay()")));
    EXPECT_THAT(lines(*killed, 0), testing::Not(Contains(HasSubstr("\"losses\""))));
}

std::vector<std::int64_t> steps_of(const Record& record, results::Rank rank) {
    std::vector<std::int64_t> steps;
    for (const results::Event* event : record.evidence.each<results::StepBegin>())
        if (event->rank == rank) steps.push_back(event->as<results::StepBegin>()->step);
    return steps;
}

// Fails if an overflow of the scaled loss is taken for the loss, if experts are taken for replicas, or if the fused
// optimizer asks for a compiler.
TEST_F(DeviceManagedRanks, TrainUnderDeepspeedAsItsExamplesConfigureIt) {
    auto variables = variables_of({.count = 4});
    if (!variables) GTEST_SKIP() << variables.error().text();
    const std::string looks = "import importlib.util, sys; sys.exit(not importlib.util.find_spec(\"deepspeed\"))";
    if (tests::shell(std::filesystem::path(settings_.python).string() + " -c '" + looks + "'").code != 0)
        GTEST_SKIP() << "no DeepSpeed: ./dev tools --frameworks";
    settings_.variables = *variables;
    settings_.warm = std::make_shared<WarmPython>();
    settings_.command.local_rank_argument = "--local_rank";
    std::ifstream file(DEADRANK_SOURCE_DIRECTORY "/tests/sim/managed/programs/deepspeed_gpus.py");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    for (const char* kind : {"half", "experts"}) {
        const auto record = play(text, {kind}, {}, 4);
        ASSERT_TRUE(record) << record.error().text();
        EXPECT_THAT(lines(*record, 3), Contains("optimizer FusedAdam")) << kind;
        EXPECT_THAT(steps_of(*record, 3), testing::ElementsAre(0, 1, 2, 3)) << kind;
        EXPECT_THAT(results::detect(record->evidence, results::all_detectors()), testing::IsEmpty()) << kind;
    }
}

constexpr const char* with_a_side_stream = R"(
import sys, torch
torch.cuda.set_device(0)
weight, total = torch.ones(4, device="cuda"), torch.zeros(4, device="cuda")
side = torch.cuda.Stream()
weight.mul_(2)
if sys.argv[1] == "waits":
    side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    total = weight + 1
side.synchronize()
print("sum", total.sum().item())
)";

// Fails if the sanitizer begins with torch's import: that is in the zygote, and ranks could not use CUDA.
TEST_F(DeviceManagedRanks, AreToldOfKernelsInTwoStreamsThatNothingOrders) {
    auto variables = variables_of({.count = 1});
    if (!variables) GTEST_SKIP() << variables.error().text();
    settings_.variables = *variables;
    settings_.variables.emplace("TORCH_CUDA_SANITIZER", "1");
    settings_.warm = std::make_shared<WarmPython>();
    const auto healthy = play(with_a_side_stream, {"waits"}, {}, 1);
    ASSERT_TRUE(healthy) << healthy.error().text();
    EXPECT_THAT(lines(*healthy, 0), Contains("sum 12.0"));
    EXPECT_TRUE(results::detect(healthy->evidence, results::all_detectors()).empty());

    const auto raced = play(with_a_side_stream, {"runs on"}, {}, 1);
    ASSERT_TRUE(raced) << raced.error().text();
    const auto findings = results::detect(raced->evidence, results::all_detectors());
    ASSERT_EQ(findings.size(), 1u);
    EXPECT_THAT(findings[0].says,
                HasSubstr("aten::add at train.py:10 total = weight + 1 reads a tensor in a side stream"));
    EXPECT_THAT(findings[0].says,
                HasSubstr("aten::mul_ at train.py:6 weight.mul_(2) has written it in the default stream"));
    EXPECT_THAT(findings[0].causes, Contains("stream_or_buffer_race"));
}

// Fails if the simulated disk is asked of a distributed checkpoint after the last call of its save.
TEST_F(DeviceManagedRanks, LoadAtOnceWhatTheySavedTogether) {
    const auto record = play(R"(
import torch, torch.distributed as dist, torch.distributed.checkpoint as dcp
dist.init_process_group("gloo")
saved, loaded = torch.arange(32.0), torch.zeros(32)
dcp.save({"weights": saved}, checkpoint_id="last")
dcp.load({"weights": loaded}, checkpoint_id="last")
print("same" if torch.equal(saved, loaded) else "other")
)",
                             {}, {}, 2);
    ASSERT_TRUE(record) << record.error().text();
    for (const results::Rank rank : {0, 1}) EXPECT_THAT(lines(*record, rank), Contains("same"));
    EXPECT_TRUE(results::detect(record->evidence, results::all_detectors()).empty());
}

TEST_F(DeviceManagedRanks, HaveStepsWithoutAnyModule) {
    const auto record = play(R"(
import torch, torch.distributed as dist
dist.init_process_group("gloo")
weight = torch.nn.Parameter(torch.ones(4))
optimizer = torch.optim.SGD([weight], lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    (weight * weight).sum().backward()
    dist.all_reduce(weight.grad)
    optimizer.step()
)",
                             {}, {}, 2);
    ASSERT_TRUE(record) << record.error().text();
    EXPECT_THAT(steps_of(*record, 1), testing::ElementsAre(0, 1, 2));
}

TEST_F(DeviceManagedRanks, CountTheStepsThatTheProgramStates) {
    const auto record = play(R"(
import torch, torch.distributed as dist
from deadrank import check, step
dist.init_process_group("gloo")
model, reference = torch.nn.Linear(4, 2), torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for number in range(5, 8):
    step(number)
    check("tokens", 3, 3)
    model(torch.ones(4)).sum().backward()
    optimizer.step()
    check("reference", reference(torch.ones(4)).numel(), 2)
)",
                             {}, {}, 2);
    ASSERT_TRUE(record) << record.error().text();
    EXPECT_THAT(steps_of(*record, 0), testing::ElementsAre(5, 6, 7));
    std::vector<std::int64_t> checked;
    for (const results::Event* event : record->evidence.each<results::ValueSample>())
        if (event->rank == 0 && record->evidence.text(event->as<results::ValueSample>()->name) == "reference")
            checked.push_back(event->as<results::ValueSample>()->step);
    EXPECT_THAT(checked, testing::ElementsAre(5, 6, 7));
}

TEST(SimulatedGpuModels, HaveTheMemoryThatTheirLibraryShows) {
    namespace device = inject::standin::device;
    for (const device::GpuModel& one : {device::h100, device::a100, device::b200})
        EXPECT_EQ(memory_of(one.key), static_cast<std::int64_t>(one.memory_bytes())) << one.key;
    EXPECT_EQ(memory_of("h1000"), 0);
}

// Each rank alone would have room. Fails if a process counts its own memory alone.
TEST_F(DeviceManagedRanks, ShareTheMemoryOfOneDevice) {
    auto variables = variables_of({.count = 2});
    if (!variables) GTEST_SKIP() << variables.error().text();
    settings_.variables = *variables;
    settings_.variables["DEADRANK_STANDIN_MEMORY"] = "64";
    settings_.warm = std::make_shared<WarmPython>();
    const auto record = play(R"(
import time, torch
rank = torch.distributed.init_process_group("nccl") or torch.distributed.get_rank()
time.sleep(rank)
mine = torch.empty(40 << 20, dtype=torch.uint8, device="cuda:0")
print("has", torch.cuda.mem_get_info(0)[0] >> 20)
time.sleep(5)
)",
                             {}, {}, 2);
    ASSERT_TRUE(record) << record.error().text();
    EXPECT_THAT(lines(*record, 0), Contains("has 24"));
    EXPECT_THAT(lines(*record, 1), Contains(HasSubstr("of which 24.00 MiB is free")));
    EXPECT_THAT(lines(*record, 1), Contains(HasSubstr("torch.OutOfMemoryError")));
}

TEST_F(DeviceManagedRanks, EndWithTheirOwnCodeAndTraceback) {
    const auto record =
        play("import os\nif os.environ['RANK'] == '1': raise ValueError('no such layer')\n", {});
    ASSERT_TRUE(record) << record.error().text();
    EXPECT_THAT(codes(*record), Contains(1));
    EXPECT_THAT(lines(*record, 1), Contains(HasSubstr("ValueError: no such layer")));
}

// FSDP2 divides gradients with this reduction.
TEST_F(DeviceManagedRanks, ReduceWhatEachMultipliesFirst) {
    const std::string text =
        "import torch, torch.distributed as dist\n"
        "dist.init_process_group('nccl')\n"
        "op = dist._make_nccl_premul_sum(0.5)\n"
        "mine = torch.full((2,), float(dist.get_rank() + 1))\n"
        "dist.all_reduce(mine, op=op)\n"
        "part, whole = torch.zeros(1), torch.arange(4.0)\n"
        "dist.reduce_scatter_tensor(part, whole, op=op)\n"
        "print(mine.tolist(), part.tolist(), whole.tolist())\n";
    const auto record = play(text, {}, {}, 4);
    ASSERT_TRUE(record) << record.error().text();
    EXPECT_THAT(lines(*record, 3), Contains("[5.0, 5.0] [6.0] [0.0, 1.0, 2.0, 3.0]"));
}

TEST_F(DeviceManagedRanks, WaitForRankZerosIdAsLongAsTheGroupsTimeout) {
    const auto text = [](const std::string& timeout) {
        return "import datetime, time, torch, torch.distributed as dist\n"
               "dist.init_process_group('nccl'" +
               timeout +
               ")\n"
               "if dist.get_rank() == 0: time.sleep(900)\n"
               "dist.all_reduce(torch.ones(1))\n"
               "print('reduced')\n";
    };
    const auto patient = play(text(", timeout=datetime.timedelta(seconds=1800)"), {}, {}, 2);
    ASSERT_TRUE(patient) << patient.error().text();
    EXPECT_THAT(lines(*patient, 1), Contains("reduced"));
    const auto usual = play(text(""), {}, {}, 2);
    ASSERT_TRUE(usual) << usual.error().text();
    EXPECT_THAT(lines(*usual, 1), Contains(HasSubstr("wait timeout after 600000ms")));
}

// torch takes a step with a rate of 0 so that an optimizer has the state that a checkpoint is loaded into.
TEST_F(DeviceManagedRanks, CountNoStepOfACheckpointsTemplate) {
    const std::string text =
        "import torch, torch.distributed as dist\n"
        "from torch.distributed.checkpoint.state_dict import get_state_dict\n"
        "dist.init_process_group('nccl')\n"
        "model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 1))\n"
        "optimizer = torch.optim.AdamW(model.parameters())\n"
        "get_state_dict(model, optimizer)\n"
        "for _ in range(3):\n"
        "    optimizer.zero_grad()\n"
        "    model(torch.ones(2, 4)).sum().backward()\n"
        "    optimizer.step()\n";
    const auto record = play(text, {}, {}, 2);
    ASSERT_TRUE(record) << record.error().text();
    std::vector<std::int64_t> steps;
    for (const results::Event* event : record->evidence.each<results::StepEnd>())
        if (event->rank == 1) steps.push_back(event->as<results::StepEnd>()->step);
    EXPECT_THAT(steps, testing::ElementsAre(0, 1, 2));
}

// Goal: a bug of a framework is played in the framework, which stays as it is for everybody else.
TEST_F(DeviceManagedRanks, RunInstalledPackagesAsAPatchChangesThem) {
    const std::string sampling =
        "from torch.utils.data import DistributedSampler\n"
        "sampler = DistributedSampler(range(8), num_replicas=4, rank=0)\n"
        "sampler.set_epoch(1)\n"
        "print('sampled', len(list(sampler)))\n";
    const auto patch = [](const std::string& file, const std::string& lines) {
        scenarios::FaultSpec spec;
        spec.kind = scenarios::patch_fault;
        spec.when.at_start = true;
        spec.parameters["patch"] = {.type = scenarios::ValueType::text,
                                    .text = "--- a/" + file + "\n+++ b/" + file + "\n@@\n" + lines};
        return spec;
    };
    const auto epoch = patch("torch/utils/data/distributed.py",
                             "-        self.epoch = epoch\n+        raise KeyError('no epochs')\n");
    const auto broken = play(sampling, {}, {epoch}, 2);
    ASSERT_TRUE(broken) << broken.error().text();
    for (const results::Rank rank : {0, 1})
        EXPECT_THAT(lines(*broken, rank), testing::AllOf(Contains(HasSubstr("raise KeyError('no epochs')")),
                                                         Contains(HasSubstr("KeyError: 'no epochs'")),
                                                         testing::Not(Contains("sampled 2"))));
    const auto healthy = play(sampling, {}, {}, 2);
    ASSERT_TRUE(healthy) << healthy.error().text();
    EXPECT_THAT(lines(*healthy, 1), testing::ElementsAre("sampled 2"));

    const auto refusal = [&](const scenarios::FaultSpec& fault) {
        const auto record = play(sampling, {}, {fault}, 2);
        return record ? "played" : record.error().text();
    };
    EXPECT_THAT(refusal(patch("no_such_package/one.py", "-a\n+b\n")),
                HasSubstr("pip install no_such_package"));
    EXPECT_THAT(refusal(patch("torch/utils/data/distributed.py", "-no such line\n+b\n")),
                HasSubstr("distributed.py has no such lines ('no such line' first)"));
    fix_ = epoch.text("patch");  // as if it mended something
    const auto fixed = play(sampling, {}, {}, 2);
    ASSERT_TRUE(fixed) << fixed.error().text();
    EXPECT_THAT(lines(*fixed, 0), Contains(HasSubstr("KeyError: 'no epochs'")));
    scenarios::FaultSpec unfixed = epoch;
    unfixed.parameters["patch"].text = scenarios::reverse_patch(fix_);
    const auto as_installed = play(sampling, {}, {unfixed}, 2);
    ASSERT_TRUE(as_installed) << as_installed.error().text();
    EXPECT_THAT(lines(*as_installed, 1), testing::ElementsAre("sampled 2"));
    fix_.clear();

    scenarios::FaultSpec one_rank = epoch;
    one_rank.parameters["rank"] = {.type = scenarios::ValueType::ranks, .list = {1}};
    EXPECT_THAT(refusal(one_rank), HasSubstr("would be on some ranks only"));
}

TEST_F(DeviceManagedRanks, AreToldTheirLocalRankAsDeepspeedTellsIt) {
    settings_.command.local_rank_argument = "--local_rank";
    const auto record = play("import sys; print(sys.argv)", {"x"}, {}, 2);
    ASSERT_TRUE(record) << record.error().text();
    EXPECT_THAT(lines(*record, 1), Contains("['train.py', '--local_rank=1', 'x']"));
}

// Fails if an option of accelerate or a line of its configuration file does not count.
TEST_F(DeviceManagedRanks, AreStartedAsAcceleratesOwnCodeWouldStartThem) {
    const std::string looks =
        "import importlib.util, sys; sys.exit(not importlib.util.find_spec(\"accelerate\"))";
    if (tests::shell(std::filesystem::path(settings_.python).string() + " -c '" + looks + "'").code != 0)
        GTEST_SKIP() << "no accelerate: ./dev tools --frameworks";
    const std::string file = testing::TempDir() + "accelerate.yaml";
    std::ofstream(file)
        << "compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nmixed_precision: bf16\n"
           "num_machines: 1\nnum_processes: 2\nmain_training_function: main\n"
           "fsdp_config:\n  fsdp_version: 2\n";
    const auto words_behind = [this](std::vector<std::string> words, int gpus) {
        words.insert(words.begin(), {"accelerate", "launch"});
        return words_behind_accelerate(words, settings_, gpus);
    };
    const auto by_file = words_behind({"--config_file", file, "t.py", "--", "x"}, 2);
    ASSERT_TRUE(by_file) << by_file.error().text();
    const auto command = read_launch_command(by_file->words, 0);
    ASSERT_TRUE(command) << command.error().text();
    EXPECT_EQ(command->ranks(), 2);
    EXPECT_THAT(command->argv, testing::ElementsAre("t.py", "x"));
    EXPECT_EQ(by_file->environment.at("FSDP_VERSION"), "2");
    EXPECT_EQ(by_file->environment.at("ACCELERATE_MIXED_PRECISION"), "bf16");
    const auto on_two_nodes =
        words_behind({"--num_processes", "16", "--num_machines", "2", "--main_process_ip", "a",
                      "--main_process_port", "29500", "--machine_rank", "0", "-m", "pkg.t"},
                     0);
    ASSERT_TRUE(on_two_nodes) << on_two_nodes.error().text();
    const auto spread = read_launch_command(on_two_nodes->words, 0);
    ASSERT_TRUE(spread) << spread.error().text();
    EXPECT_EQ(spread->nodes, 2);
    EXPECT_EQ(spread->ranks_per_node, 8);
    EXPECT_THAT(spread->argv, testing::ElementsAre("-m", "pkg.t"));
    EXPECT_THAT(words_behind({"--no-such", "t.py"}, 0).error().text(),
                HasSubstr("unrecognized arguments: --no-such"));
}

TEST_F(DeviceManagedRanks, FindTheirPlaceInSlurmsVariablesUnderSrun) {
    settings_.command.environment["SLURM_JOB_ID"] = "1";
    launcher_ = scenarios::LauncherKind::bare;
    const char* told =
        "import os; print(*(os.environ['SLURM_' + name] for name in ('PROCID', 'NTASKS', 'NODELIST')))";
    const auto record = play(told, {}, {}, 2);
    ASSERT_TRUE(record) << record.error().text();
    EXPECT_THAT(lines(*record, 1), Contains("1 2 node0"));
}

// Fails if a child that is spawned is not known, or if virtual time passes while it imports torch: the loader looks every 5 s.
TEST_F(DeviceManagedRanks, WaitForLoadersWorkersThatAreSpawned) {
    const auto record = play(R"(
import time, torch
from torch.utils.data import DataLoader, TensorDataset
if __name__ == "__main__":
    data = TensorDataset(torch.arange(32.0).view(16, 2))
    for batch, in DataLoader(data, batch_size=8, num_workers=1, multiprocessing_context="spawn"):
        print(batch.sum().item(), time.monotonic() < 5)
)",
                             {}, {}, 2);
    ASSERT_TRUE(record) << record.error().text();
    for (const results::Rank rank : {0, 1})
        EXPECT_THAT(lines(*record, rank), testing::ElementsAre("120.0 True", "376.0 True"));
}

// The loop of ignite's example: metrics on the training data behind each epoch, in a mode that is set by the first batch.
TEST_F(DeviceManagedRanks, TrainOnNoBatchThatTheyEvaluate) {
    const auto record = play(R"(
import torch, torch.nn as nn, torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset
dist.init_process_group("gloo")
model = nn.parallel.DistributedDataParallel(nn.Linear(2, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
data = TensorDataset(torch.randn(16, 2))
sampler = DistributedSampler(data)
loader = DataLoader(data, batch_size=2, sampler=sampler)
for epoch in range(2):
    sampler.set_epoch(epoch)
    for batch, in loader:
        model.train()
        optimizer.zero_grad()
        model(batch).mean().backward()
        optimizer.step()
    for batch, in loader:
        model.eval()
        with torch.no_grad():
            model(batch)
)",
                             {}, {}, 2);
    ASSERT_TRUE(record) << record.error().text();
    EXPECT_EQ(record->evidence.each<results::DataBatch>().size(), 16U);
    EXPECT_THAT(results::detect(record->evidence, results::all_detectors()), testing::IsEmpty());
}

// Dynamo reads what is written for a thread as if it were the class's: a compiled layer would contain the
// hook.
TEST_F(DeviceManagedRanks, CompileALayerWholeWithoutTheHook) {
    const auto record = play(R"(
import torch, torch.nn as nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.compile(nn.Sequential(nn.Linear(4, 4), nn.Tanh()), backend="eager", fullgraph=True)
    def forward(self, x):
        return self.layer(x).sum()
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(2):
    net(torch.ones(2, 4)).backward()
    optimizer.step()
print("compiled")
)",
                             {}, {}, 2);
    ASSERT_TRUE(record) << record.error().text();
    EXPECT_THAT(lines(*record, 1), Contains("compiled"));
}

// A line that names no Error ends the traceback.
TEST_F(DeviceManagedRanks, AreQuotedByTheEndOfTheirTraceback) {
    const auto record =
        play("class Unsupported(Exception): pass\nraise Unsupported('no such thing')", {}, {}, 2);
    ASSERT_TRUE(record) << record.error().text();
    const auto findings = results::detect(record->evidence, results::all_detectors());
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_THAT(findings[0].says, HasSubstr("Unsupported: no such thing"));
}

TEST_F(DeviceManagedRanks, SleepInVirtualTime) {
    const auto began = std::chrono::steady_clock::now();
    const auto record =
        play("import time\nb = time.time()\ntime.sleep(3600)\nprint(round(time.time() - b))\n", {});
    ASSERT_TRUE(record) << record.error().text();
    EXPECT_THAT(lines(*record, 0), Contains("3600"));
    EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(600));
}

TEST_F(DeviceManagedRanks, ThatComputeForEverEndTheRunAsUnknown) {
    settings_.real_limit = std::chrono::seconds(2);
    const auto record = play("while True: pass\n", {}, {}, 2);
    ASSERT_FALSE(record);
    EXPECT_EQ(record.error().code, scenarios::ErrorCode::environment);
    EXPECT_THAT(record.error().text(), HasSubstr("without a call that the simulator sees"));
}

TEST_F(DeviceManagedRanks, ThatWaitUnseenAreNamedWithTheirStacks) {
    settings_.real_limit = std::chrono::seconds(2);
    std::string printed;
    settings_.print = [&](results::Rank, bool, std::string_view line) {
        printed += std::string(line) + "\n";
    };
    const auto record = play(
        "import os, socket\n"
        "ours, theirs = socket.socketpair()\n"
        "def wait(): ours.recv(1)\n"
        "if os.environ['RANK'] == '1': wait()\n",
        {}, {}, 2);
    ASSERT_FALSE(record);
    EXPECT_THAT(record.error().text(), HasSubstr("rank 1 computed or waited for 2 s"));
    EXPECT_THAT(printed, HasSubstr("line 3 in wait"));
}

TEST_F(DeviceManagedRanks, BeginAnewAtTheSamePort) {
    const auto record = play(
        "import torch, torch.distributed as dist\n"
        "for i in range(3):\n"
        "    dist.init_process_group('gloo'); t = torch.ones(1); dist.all_reduce(t)\n"
        "    print(i, t.item()); dist.destroy_process_group()\n",
        {}, {}, 2);
    ASSERT_TRUE(record) << record.error().text();
    EXPECT_THAT(lines(*record, 1), testing::ElementsAre("0 2.0", "1 2.0", "2 2.0"));
}

// PyTorch's tutorial of DDP plays three demonstrations after each other, the last on fewer processes. A
// spawned process ends with all that it has; the next one knows nothing of it.
TEST_F(DeviceManagedRanks, AreSpawnedAgainByTheirProgram) {
    launcher_ = scenarios::LauncherKind::spawn;
    const auto record = play(
        "import os, torch, torch.distributed as dist, torch.multiprocessing as mp\n"
        "def demo(rank, count, name):\n"
        "    assert 'SEEN' not in os.environ; os.environ['SEEN'] = name\n"
        "    os.environ['MASTER_ADDR'], os.environ['MASTER_PORT'] = 'localhost', '12355'\n"
        "    dist.init_process_group('gloo', rank=rank, world_size=count)\n"
        "    t = torch.ones(1) * rank; dist.all_reduce(t)\n"
        "    print(name, t.item(), flush=True)\n"
        "if __name__ == '__main__':\n"
        "    for name, count in ('a', 3), ('b', 3), ('c', 2):\n"
        "        mp.spawn(demo, args=(count, name), nprocs=count)\n"
        "    print('over')\n",
        {}, {}, 3);
    ASSERT_TRUE(record) << record.error().text();
    EXPECT_THAT(lines(*record, 0), testing::ElementsAre("a 3.0", "b 3.0", "c 1.0", "over"));
    EXPECT_THAT(lines(*record, 2), testing::ElementsAre("a 3.0", "b 3.0"));
    EXPECT_THAT(codes(*record), testing::ElementsAre(0, 0, 0));
}

// A limit of deadrank says nothing about the program.
TEST_F(DeviceManagedRanks, ThatNeedWhatIsNotSimulatedEndTheRunAsUnknown) {
    const auto record = play(
        "from torch.distributed.rpc import init_rpc\n"
        "try: init_rpc('worker')\n"
        "except RuntimeError as e: raise ValueError('no workers') from e\n",
        {}, {}, 2);
    ASSERT_FALSE(record);
    EXPECT_EQ(record.error().code, scenarios::ErrorCode::environment);
    EXPECT_THAT(record.error().text(), HasSubstr("torch.distributed.rpc is not simulated"));
}

TEST_F(DeviceManagedRanks, ThatPrintWithoutEndAreCutAndStillEnd) {
    const auto record = play("for i in range(200000): print('x' * 100)\nprint('the end')\n", {}, {}, 1);
    ASSERT_TRUE(record) << record.error().text();
    EXPECT_THAT(lines(*record, 0), Contains(HasSubstr("printed more than 4 MB")));
    EXPECT_THAT(codes(*record), testing::ElementsAre(0));
}

TEST_F(DeviceManagedRanks, ThatNeverMeetEndAsTheyLike) {
    const auto record = play("print('alone')\n", {}, {}, 3);
    ASSERT_TRUE(record) << record.error().text();
    EXPECT_THAT(codes(*record), testing::ElementsAre(0, 0, 0));
}

TEST_F(DeviceManagedRanks, ThatPrintForEverEndTheRunAsUnknown) {
    settings_.real_limit = std::chrono::seconds(2);
    const auto record = play("import os\nwhile True: os.write(1, b'x' * 65536)\n", {}, {}, 1);
    ASSERT_FALSE(record);
    EXPECT_EQ(record.error().code, scenarios::ErrorCode::environment);
    EXPECT_THAT(record.error().text(), HasSubstr("--real-limit"));
}

TEST_F(DeviceManagedRanks, AreEndedAlthoughTheyIgnoreSignals) {
    settings_.keep_files = true;
    settings_.real_limit = std::chrono::seconds(2);
    const auto record = play(
        "import os, signal\n"
        "for one in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP): signal.signal(one, signal.SIG_IGN)\n"
        "open('pid', 'w').write(str(os.getpid()))\n"
        "while True: pass\n",
        {}, {}, 1);
    ASSERT_FALSE(record);
    int pid = 0;
    std::ifstream(scratch_->path() / "pid") >> pid;
    ASSERT_GT(pid, 0);
    EXPECT_EQ(::kill(pid, 0), -1) << pid;
}

// What a sharded model gives without a gather.
TEST_F(DeviceManagedRanks, SaveNothingWhereAllTensorsAreEmpty) {
    const auto record = play(
        "import torch\n"
        "torch.save({'model': {'weight': torch.empty(0), 'bias': torch.empty(0, 4)}}, 'a.pt')\n"
        "torch.save({'model': {'weight': torch.empty(0), 'bias': torch.ones(4)}}, 'b.pt')\n"
        "torch.save({'step': 3}, 'c.pt')\n",
        {}, {}, 1);
    ASSERT_TRUE(record) << record.error().text();
    std::vector<bool> wrote;
    for (const results::Event* event : record->evidence.each<results::CheckpointSave>())
        wrote.push_back(event->as<results::CheckpointSave>()->bytes > 0);
    EXPECT_EQ(wrote, (std::vector<bool>{false, true, true}));
}

// The batch has opened the step that the program states.
TEST_F(DeviceManagedRanks, CountAStatedStepOnceWhereItsBatchCameFirst) {
    const auto record = play(
        "import torch\n"
        "from deadrank import step\n"
        "model = torch.nn.Linear(4, 1)\n"
        "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
        "for batch in torch.utils.data.DataLoader(torch.ones(8, 4), batch_size=2):\n"
        "    step()\n"
        "    model(batch).sum().backward()\n"
        "    optimizer.step()\n",
        {}, {}, 1);
    ASSERT_TRUE(record) << record.error().text();
    std::vector<std::int64_t> steps;
    for (const results::Event* event : record->evidence.each<results::StepBegin>())
        steps.push_back(event->as<results::StepBegin>()->step);
    EXPECT_EQ(steps, (std::vector<std::int64_t>{0, 1, 2, 3}));
}

// As the kernel does where memory is short.
TEST_F(DeviceManagedRanks, ThatSomebodyElseEndsMakeTheRunUnknown) {
    const auto record = play(
        "import os, time\n"
        "if os.environ['RANK'] == '1': os.system('kill -9 $PPID')\n"
        "time.sleep(1)\n",
        {}, {}, 2);
    ASSERT_FALSE(record);
    EXPECT_EQ(record.error().code, scenarios::ErrorCode::environment);
    EXPECT_THAT(record.error().text(), HasSubstr("rank 1 was ended by SIGKILL"));
}

TEST_F(DeviceManagedRanks, ThatEndThemselvesAreEvidence) {
    const auto record = play(
        "import os, signal\n"
        "if os.environ['RANK'] == '1': os.kill(os.getpid(), signal.SIGKILL)\n",
        {}, {}, 2);
    ASSERT_TRUE(record) << record.error().text();
    const auto exits = record->evidence.each<RankExit>();
    EXPECT_TRUE(std::any_of(exits.begin(), exits.end(), [](const results::Event* event) {
        return event->rank == 1 && event->as<RankExit>()->signal == SIGKILL;
    }));
}

TEST_F(DeviceManagedRanks, WhoseFilesThisMachineRefusesMakeTheRunUnknown) {
    if (files_shim().empty()) GTEST_SKIP() << "libdeadrank-files.so was not built (sanitizers)";
    const auto record = play(
        "import resource\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "open('checkpoint', 'wb').write(b'x' * 100000)\n",
        {}, {}, 1);
    ASSERT_FALSE(record);
    EXPECT_EQ(record.error().code, scenarios::ErrorCode::environment);
    EXPECT_THAT(record.error().text(),
                testing::AllOf(HasSubstr("refused what rank 0 wrote"), HasSubstr("checkpoint")));
}

TEST_F(DeviceManagedRanks, LeaveNoPipesOrSocketsInTheUsersDirectory) {
    if (files_shim().empty()) GTEST_SKIP() << "libdeadrank-files.so was not built (sanitizers)";
    for (int time = 0; time < 2; ++time) {
        const auto record = play(
            "import os, socket\n"
            "os.mkfifo('pipe')\n"
            "socket.socket(socket.AF_UNIX).bind('socket')\n",
            {}, {}, 1);
        ASSERT_TRUE(record) << record.error().text();
        EXPECT_THAT(codes(*record), testing::ElementsAre(0));
    }
    EXPECT_FALSE(std::filesystem::exists(scratch_->path() / "pipe"));
    EXPECT_FALSE(std::filesystem::exists(scratch_->path() / "socket"));
}

TEST_F(DeviceManagedRanks, RaiseTextsThatAreNoUnicode) {
    const auto record = play("raise RuntimeError('boom \\ud800')\n", {}, {}, 1);
    ASSERT_TRUE(record) << record.error().text();
    EXPECT_THAT(codes(*record), testing::ElementsAre(1));
}

// A daemon is of another session, and its parent is gone: nothing but the zygote can know of it.
TEST_F(DeviceManagedRanks, LeaveNoDaemonBehind) {
    settings_.keep_files = true;
    const auto record = play(
        "import os, time\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    if os.fork() == 0:\n"
        "        open('daemon', 'w').write(str(os.getpid()))\n"
        "        os.execvp('sleep', ['sleep', '1000'])\n"
        "    os._exit(0)\n"
        "while not os.path.exists('daemon') or not open('daemon').read(): time.sleep(0.01)\n",
        {}, {}, 1);
    ASSERT_TRUE(record) << record.error().text();
    int daemon = 0;
    std::ifstream(scratch_->path() / "daemon") >> daemon;
    ASSERT_GT(daemon, 0);
    EXPECT_EQ(::kill(daemon, 0), -1) << daemon;
}

TEST_F(DeviceManagedRanks, LeaveNoProcessBehind) {
    const auto record =
        play("import subprocess\nprint(subprocess.Popen(['sleep', '1000']).pid)\n", {}, {}, 1);
    ASSERT_TRUE(record) << record.error().text();
    const auto said = lines(*record, 0);
    ASSERT_EQ(said.size(), 1U);
    // It may still wait for whoever reaps orphans here, with nothing left of it but its exit code.
    const auto state = [&] {
        std::ifstream status("/proc/" + said.front() + "/stat");
        std::string pid, name, found = "gone";
        status >> pid >> name >> found;
        return found;
    };
    for (int i = 0; i < 100 && state() != "gone" && state() != "Z"; ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_THAT(state(), testing::AnyOf("gone", "Z")) << "process " << said.front();
}

}  // namespace
}  // namespace deadrank::runners
