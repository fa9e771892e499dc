// tests/runners/watch/watch_test.cpp — Goal: an unmodified program is watched and unharmed: a healthy one
// rings nothing, and what breaks in another one is told with the rank and the step.
#include "results/detectors/detector.h"
#include "runners/backends/process/mpirun.h"
#include "tests/runners/watch/watched.h"
#include "tests/support/drawn.h"

namespace deadrank::runners {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class DeviceWatchHealthy : public DeviceWatch, public testing::WithParamInterface<const char*> {};

TEST_P(DeviceWatchHealthy, RingsNothing) {
    const std::string name = GetParam();
    if (!tests::is_drawn_today(name, 2)) GTEST_SKIP() << tests::drawn_another_day;
    const std::map<std::string, std::string> needed = {
        {"accelerated", "accelerate"}, {"hf_trainer", "transformers"}, {"lightning_module", "lightning"}};
    if (const auto need = needed.find(name);
        need != needed.end() && version_of(python_, need->second).empty())
        GTEST_SKIP() << need->second << " is not installed for " << python_.program;
    std::vector<std::string> arguments;
    if (name == "saves" || name == "keywords") arguments = {"--folder", (directory_ / "saved").string()};
    const auto seen = watched(torchrun(users / (name + ".py"), arguments));
    ASSERT_TRUE(seen) << seen.error().text();
    EXPECT_EQ(seen->code, 0);
    EXPECT_THAT(symptoms_of(seen->rang), IsEmpty());
    EXPECT_FALSE(seen->evidence.each<results::StepEnd>().empty());
}
// Built with, and looked at once, at the end.
INSTANTIATE_TEST_SUITE_P(BuiltWith, DeviceWatchHealthy,
                         testing::Values("accumulate", "fsdp2", "tensor_parallel", "gan", "join",
                                         "accelerated", "evaluate_on_zero", "workers", "saves", "stages",
                                         "peeks", "keywords", "rollouts"),
                         [](const auto& one) { return std::string(one.param); });
INSTANTIATE_TEST_SUITE_P(HeldOut, DeviceWatchHealthy,
                         testing::Values("hf_trainer", "two_dimensions", "local_steps", "mixed_precision",
                                         "streams", "experts", "reinforce", "zero_optimizer", "functional",
                                         "lightning_module"),
                         [](const auto& one) { return std::string(one.param); });

TEST_F(DeviceWatch, RingsWhenOneRankTakesOtherStepsThanItsReplica) {
    const auto seen = watched(torchrun(script(R"(import torch, torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
torch.manual_seed(0)
model, loss_of = DistributedDataParallel(nn.Linear(4, 3)), nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1 * (1 + dist.get_rank()))
for step in range(8):
    loss_of(model(torch.randn(16, 4)), torch.randint(0, 3, (16,))).backward()
    optimizer.step(), optimizer.zero_grad()
dist.destroy_process_group()
)")));
    ASSERT_TRUE(seen) << seen.error().text();
    EXPECT_EQ(seen->code, 0);
    ASSERT_EQ(seen->rang.size(), 1u);
    EXPECT_EQ(seen->rang[0].symptom, "replica_state_divergence");
    EXPECT_EQ(seen->rang[0].blame.step, 0);
}

// One bit of one weight, after the optimizer: the gradients stay the same on all ranks. Of two networks
// that step in turn it is the second's.
TEST_F(DeviceWatch, RingsWhenABitOfOneReplicaTurns) {
    const auto seen = watched(torchrun(script(std::string(trained) + R"(
other = DistributedDataParallel(nn.Linear(64, 8))
for_other = torch.optim.SGD(other.parameters(), lr=0.01)
for number in range(40):
    step()
    other(torch.randn(4, 64)).sum().backward()
    for_other.step(), for_other.zero_grad()
    if rank == 1 and number == 20:
        other.module.weight.data.view(torch.int32)[5, 7] ^= 1 << 16
dist.destroy_process_group()
)")));
    ASSERT_TRUE(seen) << seen.error().text();
    ASSERT_EQ(seen->rang.size(), 1u) << testing::PrintToString(symptoms_of(seen->rang));
    EXPECT_EQ(seen->rang[0].symptom, "replica_state_divergence");
    EXPECT_GE(seen->rang[0].blame.step, 41);
    EXPECT_LE(seen->rang[0].blame.step, 48) << "from the sixteenth step on every fourth is looked at";
}

// Later steps look at some of the parameters each, of all in turn.
TEST_F(DeviceWatch, RingsWhenABitOfOneOfManyParametersTurns) {
    const auto seen = watched(torchrun(script(std::string(trained) + R"(
model = DistributedDataParallel(nn.Sequential(*[nn.Linear(64, 64) for _ in range(75)]))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)
for number in range(60):
    step()
    if rank == 1 and number == 20:
        model.module[70].bias.data.view(torch.int32)[5] ^= 1 << 22
dist.destroy_process_group()
)")));
    ASSERT_TRUE(seen) << seen.error().text();
    ASSERT_EQ(seen->rang.size(), 1u) << testing::PrintToString(symptoms_of(seen->rang));
    EXPECT_EQ(seen->rang[0].symptom, "replica_state_divergence");
    EXPECT_GE(seen->rang[0].blame.step, 20);
    EXPECT_LE(seen->rang[0].blame.step, 32) << "three parts, each fourth step one of them";
}

// Eight gigabytes are all that each may address, and one of them keeps something of each step.
TEST_F(DeviceWatch, RingsWhenTheMemoryOfOneRankGrows) {
    const auto seen = watched(torchrun(script(std::string(trained) + R"(
import resource
resource.setrlimit(resource.RLIMIT_AS, (8 << 30, resource.RLIM_INFINITY))
kept = []
for number in range(120):
    step()
    if rank == 1:
        kept.append(torch.ones(3 << 19))
dist.destroy_process_group()
)")));
    ASSERT_TRUE(seen) << seen.error().text();
    ASSERT_EQ(seen->rang.size(), 1u) << testing::PrintToString(symptoms_of(seen->rang));
    EXPECT_EQ(seen->rang[0].symptom, "host_resource_exhaustion");
    EXPECT_THAT(seen->rang[0].blame.ranks, ElementsAre(1));
}

// What was saved well and cut afterwards, and one that its program wrote over with something of its own.
TEST_F(DeviceWatch, RingsWhenACheckpointCannotBeReadBack) {
    const fs::path folder = directory_ / "saved";
    fs::create_directories(folder);
    const auto seen = watched(torchrun(script(std::string(trained) + R"(
folder = sys.argv[1]
step()
if rank == 0:
    for name in ("well.pt", "cut.pt", "own.pt"):
        torch.save(model.module.state_dict(), os.path.join(folder, name))
    os.truncate(os.path.join(folder, "cut.pt"), 900)
    with open(os.path.join(folder, "own.pt"), "wb") as file:
        file.write(b"something of its own")
time.sleep(2.5)
dist.barrier()
dist.destroy_process_group()
)"),
                                       {folder.string()}));
    ASSERT_TRUE(seen) << seen.error().text();
    ASSERT_EQ(seen->rang.size(), 1u) << testing::PrintToString(symptoms_of(seen->rang));
    EXPECT_EQ(seen->rang[0].symptom, "checkpoint_unreadable");
    EXPECT_THAT(seen->rang[0].says, HasSubstr("cut.pt"));
}

TEST_F(DeviceWatch, TellsSettingsThatRanksDoNotShareAndRingsNothing) {
    const auto seen = watched(torchrun(script(std::string(trained) + R"(
optimizer.param_groups[0]["momentum"] = 0.1 * rank
for number in range(2):
    model(torch.zeros(4, 64)).sum().mul(0).backward()
    optimizer.step(), optimizer.zero_grad()
dist.destroy_process_group()
)"),
                                       {"--local-rank=0"}));
    ASSERT_TRUE(seen) << seen.error().text();
    EXPECT_THAT(symptoms_of(seen->rang), IsEmpty());
    ASSERT_EQ(seen->differing.size(), 1u) << testing::PrintToString(seen->differing);
    EXPECT_THAT(seen->differing[0], testing::AllOf(HasSubstr("momentum=0.1"), HasSubstr("on rank 1")));
}

// A device mesh opens the world itself, with a function that torch imported before the hook came.
TEST_F(DeviceWatch, SeesTheWorldThatADeviceMeshOpens) {
    const auto seen = watched(torchrun(script(R"(import torch, torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh

mesh = init_device_mesh("cpu", (2,))
dist.all_reduce(torch.ones(3), group=mesh.get_group())
dist.destroy_process_group()
)")));
    ASSERT_TRUE(seen) << seen.error().text();
    EXPECT_EQ(seen->code, 0);
    EXPECT_EQ(seen->evidence.each<results::CommInitLeave>().size(), 2u);
    EXPECT_THAT(symptoms_of(seen->rang), IsEmpty());
}

// A bit that turns in what DDP's reducer receives: nothing of torch.distributed's Python is called for it.
TEST_F(DeviceWatch, AFaultReachesTheReducersOwnCalls) {
    if (files_shim().empty()) GTEST_SKIP() << "libdeadrank-files.so was not built (sanitizers)";
    scenarios::Plan plan;
    plan.scenario = "test";
    plan.workload_kind = "data_parallel";
    plan.cluster["nodes"] = {.type = scenarios::ValueType::integer, .number = 1};
    for (const char* name : {"ranks", "gpus_per_node"})
        plan.cluster[name] = {.type = scenarios::ValueType::integer, .number = 2};
    scenarios::FaultSpec flip{.kind = "flip_bits"};
    flip.parameters["rank"] = {.type = scenarios::ValueType::ranks, .list = {1}};
    flip.parameters["bit"] = {.type = scenarios::ValueType::integer, .number = 40};
    flip.parameters["side"] = {.type = scenarios::ValueType::choice, .text = "received"};
    flip.when.step = 3;
    flip.when.before = "all_reduce";
    plan.faults = {flip};
    const auto record = LocalRunner(typed_subject(torchrun(users / "accumulate.py"))).run(plan, {});
    ASSERT_TRUE(record) << record.error().text();
    ASSERT_TRUE(record->truth.took_place());
    const auto found = results::detect(record->evidence, results::all_detectors());
    ASSERT_EQ(found.size(), 1u) << testing::PrintToString(symptoms_of(found));
    EXPECT_EQ(found[0].symptom, "replica_state_divergence");
    EXPECT_EQ(found[0].blame.step, 3);
}

// Two ranks that learn their numbers from an argument: nothing of torchrun's stands in their environment.
TEST_F(DeviceWatch, SeesTheRanksOfAProgramThatStartsThemItself) {
    const auto seen = watched({python_.program.string(), script(R"(import torch, torch.distributed as dist
from torch import multiprocessing, nn
from torch.nn.parallel import DistributedDataParallel

def train(rank, path):
    dist.init_process_group("gloo", init_method="file://" + path, rank=rank, world_size=2)
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Linear(8, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1 * (1 + rank))
    for step in range(6):
        model(torch.randn(4, 8)).sum().backward()
        optimizer.step(), optimizer.zero_grad()
    dist.destroy_process_group()

if __name__ == "__main__":
    multiprocessing.spawn(train, args=(__file__ + ".store",), nprocs=2)
)")
                                                             .string()});
    ASSERT_TRUE(seen) << seen.error().text();
    EXPECT_EQ(seen->code, 0);
    ASSERT_EQ(seen->rang.size(), 1u) << testing::PrintToString(symptoms_of(seen->rang));
    EXPECT_EQ(seen->rang[0].symptom, "replica_state_divergence");
}

}  // namespace
}  // namespace deadrank::runners
