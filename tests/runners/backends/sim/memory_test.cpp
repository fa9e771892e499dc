// tests/runners/backends/sim/memory_test.cpp — A machine without memory is no evidence about a job: such a run
// is unknown, and absurd sizes are refused before anything is allocated.
#include "runners/backend/memory.h"

#include <chrono>
#include <gmock/gmock.h>
#include <new>

#include "runners/pipeline/play_trial.h"
#include "scenarios/format/plan_file.h"
#include "tests/support/catalog.h"
#include "tests/support/shell.h"

namespace deadrank::runners {
namespace {

using testing::HasSubstr;

// data_parallel, of which rank 1 finds no memory at a chosen point of its program.
sim::WorkloadKind starved(const std::function<void(sim::World&)>& at_start) {
    sim::WorkloadKind kind = *sim::find_workload("data_parallel");
    const auto script = kind.script;
    kind.script = [script, at_start](const scenarios::Values& settings) -> sim::Script {
        return [body = script(settings), at_start](sim::World& world) {
            if (world.env().get("RANK") == "1") at_start(world);
            body(world);
        };
    };
    return kind;
}

Trialled play_starved(const std::function<void(sim::World&)>& at_start) {
    static const tests::ShippedCatalog catalog;
    SimRunner runner({starved(at_start)});
    return play(catalog.named("communication/rank_leaves_all_reduce"), scenarios::Seed{1}, runner,
                catalog.vocabulary);
}

TEST(HostFailure, InARankIsUnknownAndNoEndOfThatRank) {
    const Trialled trial = play_starved([](sim::World&) { throw std::bad_alloc(); });
    EXPECT_EQ(trial.outcome.verdict, results::Verdict::unknown);
    EXPECT_THAT(trial.outcome.reason, HasSubstr("this machine ran out of memory during the run"));
    EXPECT_FALSE(trial.control.has_value()) << "half a run was kept as evidence";
}

TEST(HostFailure, OfTheSystemIsUnknownToo) {
    const Trialled trial = play_starved([](sim::World&) {
        throw std::system_error(std::make_error_code(std::errc::too_many_files_open), "a pipe");
    });
    EXPECT_EQ(trial.outcome.verdict, results::Verdict::unknown);
    EXPECT_THAT(trial.outcome.reason, HasSubstr("this machine failed during the run: a pipe"));
}

TEST(HostFailure, IsToldFromAnErrorOfTheRank) {
    const Trialled trial = play_starved([](sim::World&) { throw std::runtime_error("its own"); });
    EXPECT_EQ(trial.outcome.verdict, results::Verdict::fail) << trial.outcome.reason;
}

// The program itself, with a limit on its address space.
TEST(HostFailure, UnderALimitOfTheShellIsUnknown) {
    const std::string file = testing::TempDir() + "/many_steps.toml";
    const tests::Answer answer = tests::shell(
        "sed 's/^steps = .*/steps = 30000/' '" DEADRANK_SOURCE_DIRECTORY
        "/scenarios/catalog/communication/rank_leaves_all_reduce.toml' > '" +
        file + "'; ulimit -v 500000; '" DEADRANK_BINARY_DIRECTORY "/deadrank' run '" + file +
        "' --jobs 1 --json");
    EXPECT_EQ(answer.code, 2) << answer.out;
    EXPECT_THAT(answer.out, HasSubstr("\"verdict\":\"unknown\""));
    EXPECT_THAT(answer.out, HasSubstr("memory"));
}

class AbsurdSize : public testing::Test {
protected:
    scenarios::Result<Record> run(const std::string& setting, std::int64_t number, std::int64_t memory = 0) {
        const auto trial =
            scenarios::resolve(catalog_.named("communication/rank_leaves_all_reduce"), scenarios::Seed{1},
                               runner_.capabilities(), catalog_.vocabulary);
        scenarios::Plan plan = trial.value().control;
        plan.workload[setting].number = number;
        return runner_.run(plan, {.memory = memory});
    }

    tests::ShippedCatalog catalog_;
    SimRunner runner_;
};

TEST_F(AbsurdSize, IsRefusedBeforeAnythingIsAllocated) {
    for (const auto& [setting, number] :
         {std::pair{"steps", std::int64_t{1} << 62}, {"width", std::int64_t{1} << 40}}) {
        const std::int64_t before = resident_memory();
        const auto record = run(setting, number);
        ASSERT_FALSE(record);
        EXPECT_EQ(record.error().code, scenarios::ErrorCode::environment);
        EXPECT_THAT(record.error().what, HasSubstr("needs at least")) << setting;
        EXPECT_LT(resident_memory() - before, 64 << 20) << setting;
    }
}

TEST_F(AbsurdSize, IsWhatMemorySays) {
    EXPECT_TRUE(run("steps", 100, 64 << 20));
    const auto record = run("steps", 100'000, 64 << 20);  // 8 ranks, 2 events a step
    ASSERT_FALSE(record);
    EXPECT_THAT(record.error().text(), HasSubstr("--memory allows 64 MiB"));
}

// The bound on what a run must need is low; this one passes it, and takes some 40 times as much.
TEST_F(AbsurdSize, EndsARunThatTakesMoreThanItMust) {
    const auto record = run("steps", 30'000, 128 << 20);
    ASSERT_FALSE(record);
    EXPECT_THAT(record.error().text(), HasSubstr("the run took more memory than the 128 MiB of --memory"));
}

TEST(Memory, IsReadWithItsUnit) {
    EXPECT_EQ(read_memory("500M").value(), 500 << 20);
    EXPECT_EQ(read_memory("1.5GiB").value(), std::int64_t{3} << 29);
    EXPECT_EQ(read_memory("100000").value(), 100'000);
    for (const char* wrong : {"", "M", "-1G", "1X", "1e30", "nan"}) EXPECT_FALSE(read_memory(wrong)) << wrong;
    EXPECT_GT(free_memory(), 0);
    EXPECT_GT(resident_memory(), 0);
}

}  // namespace
}  // namespace deadrank::runners
