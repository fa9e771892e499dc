// tests/runners/backends/local/shared_controls_test.cpp — Goal: one job's control is played once for all its
// bugs, and never for another job; whatever has a fault in it is played each time.
#include "runners/backends/local/shared_controls.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "runners/backends/process/job_processes.h"
#include "tests/support/fake_runner.h"

namespace deadrank::runners {
namespace {

using testing_runner::FakeRunner;

scenarios::Plan control_of(const std::string& scenario, std::int64_t steps) {
    scenarios::Plan plan;
    plan.scenario = scenario;
    plan.variant = scenarios::Variant::control;
    plan.workload_kind = "data_parallel";
    plan.workload["steps"] = {.type = scenarios::ValueType::integer, .number = steps};
    return plan;
}

class SharedControl : public ::testing::Test {
protected:
    SharedControls shared() {
        return {std::make_unique<FakeRunner>([this](const scenarios::Plan&) -> scenarios::Result<Record> {
                    ++played_;
                    if (fails_)
                        return scenarios::refuse(scenarios::ErrorCode::environment, "no torch", "get one");
                    Record record = testing_runner::finished_record();
                    record.notes = {"played"};
                    return record;
                }),
                cache_};
    }

    std::shared_ptr<ControlCache> cache_ = std::make_shared<ControlCache>();
    int played_ = 0;
    bool fails_ = false;
};

TEST_F(SharedControl, IsPlayedOnceForTwoBugsOfOneJob) {
    SharedControls one = shared(), another = shared();
    const auto first = one.run(control_of("a", 6), {}), second = another.run(control_of("b", 6), {});
    ASSERT_TRUE(first && second);
    EXPECT_EQ(played_, 1);
    ASSERT_EQ(second->evidence.events().size(), first->evidence.events().size());
    for (std::size_t i = 0; i < first->evidence.events().size(); ++i)
        EXPECT_EQ(to_json_line(second->evidence, second->evidence.events()[i]),
                  to_json_line(first->evidence, first->evidence.events()[i]));
    EXPECT_EQ(second->truth.ends, first->truth.ends);
    EXPECT_EQ(second->notes, first->notes);
    EXPECT_TRUE(one.run(control_of("a", 7), {}));
    EXPECT_EQ(played_, 2) << "another number of steps is another job";
}

TEST_F(SharedControl, IsPlayedAgainWhereItsFilesAreWantedOrItFailed) {
    SharedControls one = shared();
    fails_ = true;
    EXPECT_FALSE(one.run(control_of("a", 6), {}));
    fails_ = false;
    EXPECT_TRUE(one.run(control_of("a", 6), {}));
    RunOptions kept;
    kept.directory = ::testing::TempDir();
    EXPECT_TRUE(one.run(control_of("a", 6), kept));
    EXPECT_EQ(played_, 3);
    scenarios::Plan fault = control_of("a", 6);
    fault.variant = scenarios::Variant::fault;
    EXPECT_TRUE(one.run(fault, {}) && one.run(fault, {}));
    EXPECT_EQ(played_, 5);
}

// Goal: what we waited for ourselves never shrinks, and a process that is gone costs nothing.
TEST(Starvation, AddsUpWhatThreadsWaited) {
    Starvation starvation;
    starvation.look({::getpid(), 999'999'999}, results::Time(1));
    const results::Time first = starvation.waiting().rbegin()->second;
    EXPECT_GE(first.count(), 0);
    starvation.look({::getpid()}, results::Time(2));
    EXPECT_GE(starvation.waiting().rbegin()->second, first);
    starvation.look({}, results::Time(3));
    EXPECT_EQ(starvation.waiting().size(), 3u);
    EXPECT_LE(starvation.waiting().rbegin()->second, results::Time(3)) << "more than the time that went by";
}

}  // namespace
}  // namespace deadrank::runners
