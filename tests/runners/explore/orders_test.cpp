// tests/runners/explore/orders_test.cpp — A program in other orders of its threads and messages: what depends on the
// order is found and shown, what does not is quiet.
#include <algorithm>
#include <fstream>
#include <gmock/gmock.h>

#include "runners/backends/process/mpirun.h"
#include "runners/backends/process/scratch.h"
#include "runners/backends/sim/managed_runner.h"
#include "runners/explore/program_orders.h"

namespace deadrank::runners::explore {
namespace {

using testing::HasSubstr;

class DeviceOrders : public testing::Test {
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
        settings_.command.launcher = scenarios::LauncherKind::torchrun;
        settings_.command.ranks_per_node = 2;
        settings_.command.argv = {"train.py"};
    }

    // The program is `text` after torch, threading and a group over gloo.
    ProgramOrders play(const char* text, std::size_t count) {
        std::ofstream(scratch_->path() / "train.py")
            << "import threading, time, torch, torch.distributed as dist\ndist.init_process_group('gloo')\n"
               "rank = dist.get_rank()\n"
            << text;
        trials_.emplace(plan_of(settings_.command, {1}), PipelineOptions{});
        Workers workers{.make_runner = [&] { return std::make_unique<ManagedRunner>(settings_); }};
        auto orders = play_orders(*trials_, count, workers);
        if (!orders) throw std::runtime_error(orders.error().text());
        return std::move(*orders);
    }

    RunDifference difference_of(std::uint64_t seed) {
        settings_.tell_lines = true;
        ManagedRunner telling(settings_);
        auto found = find_order_differences(*trials_, {seed}, telling);
        if (!found || found->empty()) throw std::runtime_error("no difference");
        return std::move(found->at(seed));
    }

    static std::size_t count(const ProgramOrders& orders, Outcome outcome) {
        return static_cast<std::size_t>(std::count_if(orders.runs.begin(), orders.runs.end(),
                                                      [&](const OrderRun& one) { return one.outcome == outcome; }));
    }

    ManagedSettings settings_;
    std::optional<Scratch> scratch_;
    std::optional<ProgramTrials> trials_;
    static std::shared_ptr<WarmPython> warm_;
};

std::shared_ptr<WarmPython> DeviceOrders::warm_;

// Two threads of a rank share one group, as with an asynchronous save on the default group.
constexpr const char* shared_group = R"(
def save():
    for _ in range(3):
        dist.broadcast(torch.zeros(7), 0)
saver = threading.Thread(target=save)
saver.start()
for step in range(3):
    dist.all_reduce(torch.ones(5))
saver.join()
)";

TEST_F(DeviceOrders, ThreadsThatShareAGroupFailInSomeOrder) {
    const ProgramOrders orders = play(shared_group, 10);
    EXPECT_TRUE(orders.depends());
    const auto bad = std::find_if(orders.runs.begin(), orders.runs.end(),
                                  [](const OrderRun& one) { return one.outcome != Outcome::unaffected; });
    ASSERT_NE(bad, orders.runs.end());
    const RunDifference first = difference_of(bad->seed);
    EXPECT_THAT(first.one_line + first.other_line, HasSubstr("train.py"));
    EXPECT_NE(first.one, first.other);
}

// The same with a group for each thread.
constexpr const char* own_groups = R"(
mine = dist.new_group()
def save():
    for _ in range(3):
        dist.broadcast(torch.zeros(7), 0, group=mine)
saver = threading.Thread(target=save)
saver.start()
for step in range(3):
    dist.all_reduce(torch.ones(5))
saver.join()
)";

TEST_F(DeviceOrders, ThreadsWithGroupsOfTheirOwnEndAlikeInEachOrder) {
    const ProgramOrders orders = play(own_groups, 10);
    EXPECT_FALSE(orders.depends()) << orders.runs.front().says;
    EXPECT_GT(orders.distinct, 1U);  // fails if no order is ever drawn
}

// A checkpoint that a thread takes while the training goes on.
constexpr const char* late_copy = R"(
weights = torch.zeros(4)
def save(step):
    if rank == 0:
        torch.save({"weights": weights, "step": step}, "last.pt")
for step in range(6):
    part = torch.ones(4)
    dist.all_reduce(part)
    weights += part
    if step == 3:
        saver = threading.Thread(target=save, args=(step,))
        saver.start()
saver.join()
dist.barrier()
)";

TEST_F(DeviceOrders, ACheckpointOfChangingWeightsDiffersInSomeOrder) {
    const ProgramOrders orders = play(late_copy, 12);
    EXPECT_GT(count(orders, Outcome::wrong_result), 0U);
    EXPECT_GT(count(orders, Outcome::unaffected), 0U);
}

// A key that is looked for before it may be there.
constexpr const char* early_look = R"(
store = dist.distributed_c10d._get_default_store()
if rank == 0:
    store.set("seed", "7")
value = 7.0 if store.check(["seed"]) else 0.0
total = torch.tensor([value])
dist.all_reduce(total)
if rank == 0:
    torch.save(total, "total.pt")
)";

TEST_F(DeviceOrders, AKeyThatIsReadBeforeItIsWrittenIsFound) {
    const ProgramOrders orders = play(early_look, 12);
    EXPECT_GT(count(orders, Outcome::wrong_result), 0U);
    EXPECT_GT(count(orders, Outcome::unaffected), 0U);
}

TEST_F(DeviceOrders, OneSeedIsOneOrder) {
    const ProgramOrders first = play(shared_group, 3), second = play(shared_group, 3);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(first.runs[i].trace_hash, second.runs[i].trace_hash);
}

}  // namespace
}  // namespace deadrank::runners::explore
