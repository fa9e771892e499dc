// tests/runners/commands/determinism_of_program_test.cpp — Goal: of a program of the user's
// `deadrank replay determinism` says that it is one run, or names the event that differs and the line of
// Python behind it.
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <gmock/gmock.h>

#include "runners/backends/process/mpirun.h"
#include "tests/support/shell.h"

namespace deadrank::runners {
namespace {

using testing::HasSubstr;

class DeviceDeterminismOfProgram : public testing::Test {
protected:
    void SetUp() override {
        if (const auto python = best_python(); !python) GTEST_SKIP() << python.error().text();
        std::filesystem::create_directories(directory_);
    }
    void TearDown() override { std::filesystem::remove_all(directory_); }

    tests::Answer check(const std::string& text) const {
        std::ofstream(directory_ / "train.py")
            << "import torch, torch.distributed as dist\ndist.init_process_group('gloo')\n"
            << text;
        return tests::shell(fmt::format(
            "cd {} && {}/deadrank replay determinism -- torchrun --nproc-per-node 2 train.py 2>&1",
            directory_.string(), DEADRANK_BINARY_DIRECTORY));
    }

    const std::filesystem::path directory_ =
        std::filesystem::temp_directory_path() / fmt::format("deadrank-twice-{}", getpid());
};

TEST_F(DeviceDeterminismOfProgram, IsOneRunWhereOnlyTheSeedDecides) {
    const auto seen = check(
        "import random, os\n"
        "x = torch.randn(8) * random.random() * os.urandom(1)[0]\n"
        "dist.all_reduce(x)\nprint(x)\n");
    EXPECT_EQ(seen.code, 0) << seen.out;
    EXPECT_THAT(seen.out, HasSubstr("one run: trace "));
    EXPECT_THAT(seen.out, HasSubstr("played 2 times"));
}

// The number of a process is drawn by the machine.
TEST_F(DeviceDeterminismOfProgram, NamesTheLineAtWhichTwoRunsPart) {
    const auto seen = check(
        "import os\n"
        "dist.barrier()\n"
        "if dist.get_rank() == 1:\n"
        "    dist.all_reduce(torch.ones(os.getpid()))\n"
        "else:\n"
        "    dist.all_reduce(torch.ones(4))\n");
    EXPECT_EQ(seen.code, 1) << seen.out;
    EXPECT_THAT(seen.out, HasSubstr("first differing event"));
    EXPECT_THAT(seen.out,
                HasSubstr("caused at rank 1 at train.py:6 dist.all_reduce(torch.ones(os.getpid()))"));
}

}  // namespace
}  // namespace deadrank::runners
