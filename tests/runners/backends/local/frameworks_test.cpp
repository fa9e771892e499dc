// tests/runners/backends/local/frameworks_test.cpp — Goal: other people's parallel APIs train for real under
// our eyes. One task in several layouts gives one loss, to the last printed digit: a subject that did not
// really train in parallel, or that we disturbed, would part from the others.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "runners/backends/local/local_runner.h"
#include "runners/backends/local/local_subject.h"
#include "runners/backends/process/mpirun.h"
#include "tests/runners/backends/local/small_plan.h"

namespace deadrank::runners {
namespace {

scenarios::Plan healthy() {
    scenarios::Plan plan = small_plan("data_parallel", 1, 2, 4);
    plan.workload["checkpoint_every"] = whole(2);
    return plan;
}

// Each step's loss as printed, of rank 0; nothing when the subject's framework is not on this machine.
class DeviceFrameworks : public testing::TestWithParam<std::vector<std::string>> {
protected:
    std::vector<std::string> losses_of(const std::string& name) {
        const auto subject = subject_named(name);
        EXPECT_TRUE(subject) << subject.error().text();
        const auto python = best_python();
        if (!subject || !python || !check_needs(*subject, *python)) return {};
        const auto record = LocalRunner(*subject).run(healthy(), {});
        EXPECT_TRUE(record && record->truth.completed()) << name;
        std::vector<std::string> losses;
        if (!record) return losses;
        EXPECT_FALSE(record->evidence.each<results::CollectiveEnter>().empty()) << name;
        EXPECT_FALSE(record->evidence.each<results::ParametersDigest>().empty()) << name;
        for (const results::Event* event : record->evidence.each<results::StepEnd>()) {
            if (event->rank == 0)
                losses.push_back(fmt::format("{:.6f}", event->as<results::StepEnd>()->loss));
        }
        EXPECT_EQ(losses.size(), 4u) << name;
        return losses;
    }
};

TEST_P(DeviceFrameworks, TrainOneTaskToOneLoss) {
    std::vector<std::string> first;
    int played = 0;
    for (const std::string& name : GetParam()) {
        const std::vector<std::string> losses = losses_of(name);
        if (losses.empty()) continue;
        if (++played == 1) first = losses;
        EXPECT_EQ(losses, first) << name;
    }
    if (played < 2) GTEST_SKIP() << "fewer than two of these frameworks are here; ./dev tools --frameworks";
}

INSTANTIATE_TEST_SUITE_P(Samples, DeviceFrameworks,
                         testing::Values(std::vector<std::string>{"fsdp2", "deepspeed_zero1",
                                                                  "deepspeed_zero3", "colossal_zero1"}));
INSTANTIATE_TEST_SUITE_P(Layers, DeviceFrameworks,
                         testing::Values(std::vector<std::string>{"dtensor", "torch_pipeline"}));

}  // namespace
}  // namespace deadrank::runners
