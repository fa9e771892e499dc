// tests/runners/watch/watch_device_program_test.cpp — Goal: what programs do on GPUs alone, as recording a
// graph or scaling a loss, is neither disturbed nor taken for something else. Played without a GPU.
#include "tests/runners/watch/watched.h"

namespace deadrank::runners {
namespace {

using testing::IsEmpty;

std::string training(const std::string& before, const std::string& loop) {
    return R"(import torch, torch.distributed as dist

dist.init_process_group("gloo")
torch.manual_seed(0)
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
data = torch.ones(8, 4)
)" + before +
           R"(
def step():
    loss = model(data).square().mean()
    loss.backward(), optimizer.step(), optimizer.zero_grad()

)" + loop + "\ndist.destroy_process_group()\n";
}

// The gradients' scaler hands backward() a loss that is 65536 times as large.
TEST_F(DeviceWatch, TellsTheLossAndNotWhatAScalerMadeOfIt) {
    if (best_python()->torch.starts_with("1.")) GTEST_SKIP() << "torch 1.13 has no scaler for the processor";
    const auto seen = watched(torchrun(script(training("", R"(
scaler = torch.amp.GradScaler("cpu", init_scale=65536.0)
for number in range(24):
    loss = model(data).square().mean()
    (scaler.scale(loss) if number >= 12 else loss).backward()
    if number >= 12:
        scaler.step(optimizer), scaler.update()
    else:
        optimizer.step()
    optimizer.zero_grad()
)"))));
    ASSERT_TRUE(seen) << seen.error().text();
    EXPECT_THAT(symptoms_of(seen->rang), IsEmpty());
    EXPECT_EQ(seen->code, 0);
    int steps = 0;
    for (const results::Event* event : seen->evidence.each<results::StepEnd>()) {
        ++steps;
        EXPECT_LT(event->as<results::StepEnd>()->loss, 10) << event->as<results::StepEnd>()->step;
    }
    EXPECT_EQ(steps, 48);
}

// A call of CUDA from the hook would end the recording: seen on a GPU, where it ended the program.
TEST_F(DeviceWatch, SeesNoStepInWhatAGraphOnlyRecords) {
    const auto seen = watched(torchrun(script(training("from deadrank_hook.later import graphs\n", R"(
for _ in range(5):
    step()
graphs.recording += 1  # as CUDAGraph.capture_begin does
for _ in range(3):
    step()
graphs.recording -= 1
for _ in range(5):
    step()
)"))));
    ASSERT_TRUE(seen) << seen.error().text();
    EXPECT_THAT(symptoms_of(seen->rang), IsEmpty());
    EXPECT_EQ(seen->code, 0);
    EXPECT_EQ(seen->evidence.each<results::StepEnd>().size(), 20u);
    int reductions = 0;
    for (const results::Event* event : seen->evidence.each<results::CollectiveEnter>())
        reductions += event->as<results::CollectiveEnter>()->op == results::Op::all_reduce;
    EXPECT_EQ(reductions, 20);
}

}  // namespace
}  // namespace deadrank::runners
