// tests/runners/backends/ranks/undo_test.cpp — Goal: a harness that is killed while a rank of its job stands
// still leaves processes and a directory, and one command sets all of it right.
#include <filesystem>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "runners/backends/gpu/gpu_machine.h"
#include "runners/backends/mpi/mpi_runner.h"
#include "runners/backends/process/mpirun.h"
#include "tests/support/shell.h"

namespace deadrank::runners {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

// Plays a scenario whose rank is stopped, kills the harness when a marked process stands still, undoes.
std::string killed_in_the_middle(const std::string& runner, const fs::path& place) {
    const std::string deadrank = fmt::format("DEADRANK_STATE='{0}/state' TMPDIR='{0}' {1}/deadrank ",
                                             place.string(), DEADRANK_BINARY_DIRECTORY);
    const std::string ours =
        fmt::format("grep -lsz '^DEADRANK_EVIDENCE={}' /proc/[0-9]*/environ | cut -d/ -f3", place.string());
    const std::string stopped =
        "for p in $(" + ours + "); do sed 's/.*) //' /proc/$p/stat; done 2>/dev/null | grep -c '^T'";
    return tests::shell(
               deadrank +
               "run communication/stopped_rank_times_out_its_peers --no-control --no-heal --runner " +
               runner + " >/dev/null 2>&1 & harness=$!\n" + "for i in $(seq 300); do [ \"$(" + stopped +
               ")\" -ge 1 ] && break; sleep 0.1; done\n" + "echo stopped=$(" + stopped +
               "); kill -9 $harness; wait $harness 2>/dev/null\n" + "echo after=$(" + ours + " | wc -l)\n" +
               deadrank + "undo; echo code=$?\n" + "echo left=$(" + ours + " | wc -l) files=$(ls -d '" +
               place.string() + "'/deadrank-* 2>/dev/null | wc -l)\n" + deadrank + "undo --dry-run\n")
        .out;
}

void expect_all_right(const std::string& said) {
    EXPECT_THAT(said, HasSubstr("stopped=1")) << said;
    EXPECT_THAT(said, Not(HasSubstr("after=0"))) << "the harness took its job with it; nothing to undo\n"
                                                 << said;
    EXPECT_THAT(said, HasSubstr("code=0")) << said;
    EXPECT_THAT(said, HasSubstr("left=0 files=0")) << said;
    EXPECT_THAT(said, HasSubstr("nothing was left")) << said;
}

class DeviceUndoKilled : public testing::Test {
protected:
    DeviceUndoKilled() { fs::create_directories(place_); }
    ~DeviceUndoKilled() override { fs::remove_all(place_); }
    fs::path place_ = fs::path(testing::TempDir()) / ("deadrank_killed_" + std::to_string(getpid()));
};

TEST_F(DeviceUndoKilled, AnMpiJobWithAStoppedRank) {
    if (const auto there = mpi_is_there(); !there) GTEST_SKIP() << there.error().text();
    expect_all_right(killed_in_the_middle("mpi", place_));
}

TEST_F(DeviceUndoKilled, AGpuJobWithAStoppedRank) {
    setenv(standin_variable, "1", 1);
    if (const auto there = find_gpus()) {
        expect_all_right(killed_in_the_middle("gpu", place_));
        unsetenv(standin_variable);
    } else {
        unsetenv(standin_variable);
        GTEST_SKIP() << there.error().text();
    }
}

TEST_F(DeviceUndoKilled, APyTorchJobWithAStoppedRank) {
    if (const auto python = best_python(); !python) GTEST_SKIP() << python.error().text();
    expect_all_right(killed_in_the_middle("local", place_));
}

}  // namespace
}  // namespace deadrank::runners
