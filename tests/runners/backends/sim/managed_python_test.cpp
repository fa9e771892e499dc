// tests/runners/backends/sim/managed_python_test.cpp — Goal: what a program sees in a managed rank, tried by a small
// engine in Python: tests/sim/managed/python_side_test.py, in an interpreter with torch.
#include <gtest/gtest.h>

#include "runners/backends/process/mpirun.h"
#include "tests/support/shell.h"

namespace deadrank::tests {
namespace {

TEST(DeviceManagedPython, ShowsAProgramWhatItsTestsAskFor) {
    const auto python = runners::best_python();
    if (!python) GTEST_SKIP() << python.error().text();
    const Answer answer = shell("'" + python->program.string() +
                                "' '" DEADRANK_SOURCE_DIRECTORY "/tests/sim/managed/python_side_test.py' 2>&1");
    EXPECT_EQ(answer.code, 0) << answer.out;
}

}  // namespace
}  // namespace deadrank::tests
