// tests/runners/explore/debugger_test.cpp — deadrank inject --debug: pdb in one rank of a job that stands still, and
// the way back.
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>

#include "runners/backends/process/mpirun.h"
#include "runners/backends/process/private_files.h"
#include "runners/backends/process/scratch.h"
#include "tests/support/shell.h"

namespace deadrank::tests {
namespace {

using testing::HasSubstr;

constexpr const char* counting = R"(import torch, torch.distributed as dist
dist.init_process_group("gloo")
total = torch.zeros(1)
for step in range(4):
    part = torch.full((1,), float(dist.get_rank() + step))
    dist.all_reduce(part)
    total += part
print("total", total.item())
)";

class DeviceDebugger : public testing::Test {
protected:
    void SetUp() override {
        const auto python = runners::best_python();
        if (!python) GTEST_SKIP() << python.error().text();
        auto scratch = runners::Scratch::make({}, {});
        ASSERT_TRUE(scratch);
        scratch_.emplace(std::move(*scratch));
        std::filesystem::create_directory(scratch_->path() / "layers");
        const auto can = runners::try_private_files({scratch_->path()}, scratch_->path() / "layers");
        if (!can) GTEST_SKIP() << can.error().what;
    }

    Answer debug(const std::string& program, const std::string& moment, const std::string& commands) const {
        std::ofstream(scratch_->path() / "train.py") << program;
        std::ofstream(scratch_->path() / "commands") << commands;
        return shell("cd '" + scratch_->path().string() + "' && '" DEADRANK_BINARY_DIRECTORY
                     "/deadrank' inject --debug '" + moment +
                     "' -- torchrun --nproc-per-node 2 train.py < commands 2>&1");
    }

    std::optional<runners::Scratch> scratch_;
};

// Fails if `back` does not restore the rank's variables, or if the other rank went on meanwhile.
TEST_F(DeviceDebugger, GoesBackToWhereItBegan) {
    const Answer answer =
        debug(counting, "rank 1 before all_reduce 3", "p step\np total.item()\nnext\np total.item()\nback\np total.item()\nq\n");
    EXPECT_EQ(answer.code, 0) << answer.out;
    // Steps 0 and 1 added 1 and 3, step 2 adds 5.
    EXPECT_THAT(answer.out, HasSubstr("(rank 1) 2\n(rank 1) 4.0\n(rank 1) > "));
    EXPECT_THAT(answer.out, HasSubstr("(rank 1) 9.0\n"));
    const auto second = answer.out.find("9.0\n");
    EXPECT_THAT(answer.out.substr(second), HasSubstr("(rank 1) 4.0\n"));
    EXPECT_THAT(answer.out, HasSubstr("the debugged copy is gone"));
}

TEST_F(DeviceDebugger, SaysWhyThereIsNoWayBack) {
    const std::string with_thread =
        "import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()\n";
    const Answer answer = debug(with_thread + counting, "rank 0 before all_reduce 2", "p step\nback\nq\n");
    EXPECT_EQ(answer.code, 0) << answer.out;
    EXPECT_THAT(answer.out, HasSubstr("(rank 0) 1\n"));
    EXPECT_THAT(answer.out, HasSubstr("cannot go back"));
}

TEST_F(DeviceDebugger, NamesTheMomentsOfAProgramThatHasNoSuch) {
    const Answer answer = debug(counting, "rank 0 before all_reduce 99", "");
    EXPECT_EQ(answer.code, 2) << answer.out;
    EXPECT_THAT(answer.out, HasSubstr("all_reduce × 4"));
}

}  // namespace
}  // namespace deadrank::tests
