// tests/runners/backends/local/storage_test.cpp — Goal: a storage that is full, locked or slow is so for
// torch's own writers below Python, on all ranks, at the step that the plan names; and not before.
#include <filesystem>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <set>
#include <unistd.h>

#include "runners/backends/local/local_runner.h"
#include "runners/backends/process/mpirun.h"
#include "runners/backends/process/scratch.h"
#include "tests/runners/backends/local/small_plan.h"
#include "tests/support/shell.h"

namespace deadrank::runners {
namespace {

namespace fs = std::filesystem;
using scenarios::ValueType;

// Two ranks; a checkpoint after steps 1 and 3, by torch.save.
scenarios::Plan saving(const std::string& fault, const std::string& setting, std::int64_t value) {
    scenarios::Plan plan = small_plan("zero", 1, 2, 4);
    plan.workload["checkpoint_every"] = whole(2);
    scenarios::FaultSpec spec{.kind = fault};
    spec.parameters["path"] = {.type = ValueType::text, .text = ""};
    if (!setting.empty()) spec.parameters[setting] = whole(value);
    spec.when.step = 2;
    plan.faults = {spec};
    return plan;
}

// Of rank 0's checkpoints, in order.
std::vector<results::Time> saves(const results::Evidence& evidence) {
    std::vector<results::Time> spans;
    results::Time begun{0};
    for (const results::Event& event : evidence.events()) {
        if (event.rank != 0) continue;
        if (const auto* begin = event.as<results::PhaseBegin>();
            begin && begin->phase == results::Phase::checkpoint)
            begun = event.at;
        if (const auto* end = event.as<results::PhaseEnd>(); end && end->phase == results::Phase::checkpoint)
            spans.push_back(event.at - begun);
    }
    return spans;
}

class DeviceStorage : public testing::Test {
protected:
    void SetUp() override {
        if (const auto python = best_python(); !python) GTEST_SKIP() << python.error().text();
        if (files_shim().empty()) GTEST_SKIP() << "libdeadrank-files.so was not built (sanitizers)";
    }
};

// torch's writer knows no ENOSPC: what arrives above it is a failed stream, on both ranks.
TEST_F(DeviceStorage, ThatIsFullFailsInTorchsOwnWriter) {
    const auto record = LocalRunner().run(saving("fill_storage", "free", 4), {});
    ASSERT_TRUE(record) << record.error().text();
    EXPECT_TRUE(record->truth.applied());
    EXPECT_FALSE(record->truth.completed());
    int good = 0;
    std::set<results::Rank> failed;
    for (const results::Event* event : record->evidence.each<results::CheckpointSave>()) {
        const results::Code code = event->as<results::CheckpointSave>()->result;
        good += code == results::Code::ok;
        if (code == results::Code::system_error) failed.insert(event->rank);
    }
    EXPECT_EQ(good, 2);  // the first checkpoint, of both
    EXPECT_EQ(failed.size(), 2u);
}

// Enough room is no fault, and what a fix asks for: the first is refused, the second is played.
TEST_F(DeviceStorage, ThatHasRoomForAllIsAFaultInAHealedRunAlone) {
    scenarios::Plan plan = saving("fill_storage", "free", 10'000'000);
    const auto record = LocalRunner().run(plan, {});
    ASSERT_TRUE(record) << record.error().text();
    ASSERT_NE(record->truth.refusal(), nullptr);
    EXPECT_THAT(record->truth.refusal()->says, testing::HasSubstr("had room for all that the job wrote"));
    plan.variant = scenarios::Variant::healed;
    const auto healed = LocalRunner().run(plan, {});
    ASSERT_TRUE(healed) << healed.error().text();
    EXPECT_EQ(healed->truth.refusal(), nullptr);
    EXPECT_TRUE(healed->truth.applied());
    EXPECT_TRUE(healed->truth.completed());
}

// Somebody mounted it anew, for reading: the first that opens a file for writing is told so.
TEST_F(DeviceStorage, ThatIsLockedFailsInTorchsOwnWriter) {
    const auto record = LocalRunner().run(saving("lock_storage", "", 0), {});
    ASSERT_TRUE(record) << record.error().text();
    EXPECT_TRUE(record->truth.applied());
    EXPECT_FALSE(record->truth.completed());
    int good = 0, failed = 0;
    for (const results::Event* event : record->evidence.each<results::CheckpointSave>()) {
        const bool ok = event->as<results::CheckpointSave>()->result == results::Code::ok;
        (ok ? good : failed) += 1;
    }
    EXPECT_EQ(good, 2);
    EXPECT_GT(failed, 0);
}

// Another behaviour than the one that was asked for would be judged as if it were that.
TEST_F(DeviceStorage, WithoutItsLibraryIsRefusedAndUnknown) {
    const fs::path place = fs::path(testing::TempDir()) / fmt::format("no-shims-{}", getpid());
    fs::create_directories(place);
    fs::create_symlink(DEADRANK_SOURCE_DIRECTORY "/runners", place / "runners");
    fs::copy_file(DEADRANK_BINARY_DIRECTORY "/deadrank", place / "deadrank");
    const auto answer =
        tests::shell(fmt::format("DEADRANK_CATALOG='{}/scenarios/catalog' {}/deadrank run "
                                 "fault_tolerance/disk_full_during_save --runner "
                                 "local --ranks 2 --no-control --no-heal",
                                 DEADRANK_SOURCE_DIRECTORY, place.string()));
    fs::remove_all(place);
    EXPECT_EQ(answer.code, 2) << answer.out;
    EXPECT_THAT(answer.out, testing::HasSubstr("libdeadrank-files.so is not beside this program"))
        << answer.out;
}

// 5000 times 0.1 ms for each of its few calls.
TEST_F(DeviceStorage, ThatIsSlowMakesTheSecondCheckpointLate) {
    const auto record = LocalRunner().run(saving("slow_storage", "factor", 5'000'000), {});
    ASSERT_TRUE(record) << record.error().text();
    EXPECT_TRUE(record->truth.applied());
    EXPECT_TRUE(record->truth.completed());
    const auto spans = saves(record->evidence);
    ASSERT_EQ(spans.size(), 2u);
    EXPECT_GT(spans[1] - spans[0], results::Time(450'000'000));
}

}  // namespace
}  // namespace deadrank::runners
