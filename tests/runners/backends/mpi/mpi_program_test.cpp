// Goal: an MPI program that is not ours is played by the MPI runner as it stands: a fault finds its moment in
// the program's own calls, and each rank's end is told.
#include <gtest/gtest.h>

#include "runners/backend/extension.h"
#include "runners/backends/local/local_job.h"
#include "runners/backends/process/mpirun.h"
#include "runners/backends/process/scratch.h"
#include "runners/commands/under_test.h"

namespace deadrank::runners {
namespace {

const std::string mpi_caller = DEADRANK_BINARY_DIRECTORY "/tests/shims/mpi_stranger";

scenarios::Plan with_fault(const std::string& kind) {
    scenarios::Plan plan;
    plan.scenario = "test";
    plan.workload_kind = "data_parallel";
    plan.cluster["nodes"] = {.type = scenarios::ValueType::integer, .number = 1};
    for (const char* name : {"ranks", "gpus_per_node"})
        plan.cluster[name] = {.type = scenarios::ValueType::integer, .number = 2};
    scenarios::FaultSpec fault{.kind = kind};
    fault.parameters["rank"] = {.type = scenarios::ValueType::ranks, .list = {1}};
    fault.when.before = "all_reduce";
    fault.when.nth = 2;
    plan.faults = {fault};
    return plan;
}

class DeviceMpiProgram : public testing::Test {
protected:
    void SetUp() override {
        if (const auto mpirun = mpirun_program(); !mpirun) GTEST_SKIP() << mpirun.error().text();
        if (mpi_shim().empty()) GTEST_SKIP() << "libdeadrank-mpi.so was not built";
    }
};

TEST_F(DeviceMpiProgram, IsKilledAtTheCallThatThePlanNames) {
    const auto record = MpiProgram({mpi_caller, "allreduce", "allreduce"}).run(with_fault("kill_rank"), {});
    ASSERT_TRUE(record) << record.error().text();
    EXPECT_TRUE(record->truth.applied());
    EXPECT_FALSE(record->truth.completed());
    std::map<results::Rank, std::int32_t> signals;
    for (const results::Event* event : record->evidence.each<results::RankExit>())
        signals[event->rank] = event->as<results::RankExit>()->signal;
    EXPECT_EQ(signals, (std::map<results::Rank, std::int32_t>{{0, 15}, {1, 9}}));
    int entered = 0;
    for (const results::Event* event : record->evidence.each<results::CollectiveEnter>())
        entered += event->rank == 1;
    EXPECT_EQ(entered, 1);
}

TEST_F(DeviceMpiProgram, EndsWellWithoutAFault) {
    scenarios::Plan healthy = with_fault("kill_rank");
    healthy.faults.clear();
    healthy.cluster["launcher"] = {.type = scenarios::ValueType::choice, .text = "mpirun"};
    const auto record = MpiProgram({mpi_caller, "allreduce", "send"}).run(healthy, {});
    ASSERT_TRUE(record) << record.error().text();
    EXPECT_TRUE(record->truth.completed());
}

TEST(MpiProgram, IsRefusedAMomentThatItDoesNotShow) {
    scenarios::Plan plan = with_fault("kill_rank");
    plan.faults.front().when.step = 3;
    const auto record = MpiProgram({mpi_caller}).run(plan, {});
    ASSERT_FALSE(record);
    EXPECT_EQ(record.error().code, scenarios::ErrorCode::unsupported);
    EXPECT_NE(record.error().text().find("nth = 3"), std::string::npos) << record.error().text();
}

TEST(MpiProgram, IsTypedBehindTheDashes) {
    const Extension extension;
    const auto programs =
        commands::programs_under_test("mpi", extension, {.command = {"./a", "b"}, .ranks = 2});
    ASSERT_TRUE(programs) << programs.error().text();
    EXPECT_EQ(programs->front().words, "--ranks 2 -- ./a b");
    EXPECT_EQ(programs->front().make()->name(), "mpi");
    EXPECT_FALSE(commands::programs_under_test("mpi", extension, {.names = {"ddp"}}));
}

}  // namespace
}  // namespace deadrank::runners
