// tests/runners/backends/local/bad_subject_test.cpp — Goal: whatever a program under test does, the run ends
// in bounded time, says why in a sentence, keeps what there was to see, and leaves no process behind.
#include <chrono>
#include <fmt/format.h>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include "runners/backends/local/local_runner.h"
#include "runners/backends/process/scratch.h"

namespace deadrank::runners {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::HasSubstr;

scenarios::Plan subject_plan() {
    scenarios::Plan plan;
    plan.scenario = "test";
    plan.workload_kind = "data_parallel";
    for (const char* name : {"ranks", "gpus_per_node"})
        plan.cluster[name] = {.type = scenarios::ValueType::integer, .number = 2};
    plan.cluster["nodes"] = {.type = scenarios::ValueType::integer, .number = 1};
    return plan;
}

class DeviceBadSubject : public testing::Test {
protected:
    void SetUp() override {
        if (files_shim().empty()) GTEST_SKIP() << "libdeadrank-files.so was not built (sanitizers)";
    }
    ~DeviceBadSubject() override { fs::remove(pid_file_); }

    // A shell script as the whole job, watched by its output alone.
    Record play(const std::string& script, const std::function<void(Manifest&)>& change = {}) {
        Manifest manifest = typed_subject({"/bin/sh", "-c", script});
        manifest.hook = false;
        manifest.step = R"(^step (\d+) loss (\S+))";
        manifest.environment["PID_FILE"] = pid_file_.string();
        manifest.start = manifest.quiet = manifest.limit = std::chrono::seconds(60);
        if (change) change(manifest);
        const auto begin = std::chrono::steady_clock::now();
        auto record = LocalRunner(manifest).run(subject_plan(), {});
        EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(100));  // on any machine
        if (!record) {
            ADD_FAILURE() << record.error().text();
            return {};
        }
        return std::move(*record);
    }

    // The process that the script wrote down is gone.
    bool left_something() const {
        int pid = 0;
        std::ifstream(pid_file_) >> pid;
        EXPECT_GT(pid, 0) << "it did not write down its process";
        return pid > 0 && kill(pid, 0) == 0;
    }

    // In memory: files of the program are given back to what they were before it.
    fs::path pid_file_ = fs::path("/dev/shm") / fmt::format("deadrank-bad-subject-{}", getpid());
};

TEST_F(DeviceBadSubject, OfTenLinesIsReadByItsOutputAlone) {
    const Record record = play("echo step 0 loss 0.5; echo step 1 loss 0.25");
    EXPECT_TRUE(record.truth.completed());
    ASSERT_EQ(record.evidence.each<results::StepEnd>().size(), 2u);
    EXPECT_DOUBLE_EQ(record.evidence.each<results::StepEnd>().back()->as<results::StepEnd>()->loss, 0.25);
}

TEST_F(DeviceBadSubject, ThatDoesNotStartIsNamed) {
    auto record = LocalRunner(typed_subject({"/no/such/program"})).run(subject_plan(), {});
    ASSERT_FALSE(record);
    EXPECT_EQ(record.error().code, scenarios::ErrorCode::environment);
    EXPECT_THAT(record.error().text(), HasSubstr("/no/such/program"));
}

TEST_F(DeviceBadSubject, ThatPrintsNothingIsEndedAndSoSaid) {
    const Record record = play("echo $$ >$PID_FILE; sleep 300",
                               [](Manifest& manifest) { manifest.start = std::chrono::milliseconds(700); });
    EXPECT_THAT(record.notes, Contains(HasSubstr("no output and no event")));
    EXPECT_FALSE(left_something());
}

TEST_F(DeviceBadSubject, ThatForksAwayIsFoundWhereverItWent) {
    const Record record = play(
        "echo step 0 loss 1; env -i setsid sh -c 'echo $$ >'$PID_FILE'; exec sleep 300' </dev/null "
        ">/dev/null 2>&1 & sleep 0.3");
    EXPECT_THAT(record.notes, Contains(HasSubstr("left 1 process running")));
    EXPECT_FALSE(left_something());
}

TEST_F(DeviceBadSubject, ThatIgnoresSignalsIsEnded) {
    const Record record =
        play("trap '' TERM INT HUP; echo step 0 loss 1; echo $$ >$PID_FILE; while :; do sleep 1; done",
             [](Manifest& manifest) { manifest.quiet = std::chrono::milliseconds(700); });
    EXPECT_THAT(record.notes, Contains(HasSubstr("no sign of life")));
    EXPECT_FALSE(left_something());
    EXPECT_EQ(record.evidence.each<results::StepEnd>().size(), 1u);
}

TEST_F(DeviceBadSubject, ThatFillsTheDiskIsStopped) {
    const Record record = play(
        "echo step 0 loss 1; i=0; while :; do head -c 1000000 /dev/zero >$TMPDIR/f$i; i=$((i+1)); echo $i; "
        "done",
        [](Manifest& manifest) { manifest.disk = manifest.largest_file = 8 << 20; });
    EXPECT_THAT(record.notes, Contains(HasSubstr("it wrote more than 8 MiB")));
}

// Under a directory of a long name the temporary one stays short, is weighed, and is gone at the end.
TEST_F(DeviceBadSubject, ThatFillsItsTemporaryDirectoryElsewhereIsStopped) {
    const fs::path kept = fs::temp_directory_path() / fmt::format("deadrank-bad-subject-kept-{}", getpid()) /
                          "of_a_run_whose_name_is_rather_long";
    const std::string script =
        "echo step 0 loss 1; echo $TMPDIR >$PID_FILE; i=0; while :; do head -c 1000000 /dev/zero "
        ">$TMPDIR/f$i; "
        "i=$((i+1)); echo $i; done";
    Manifest manifest = typed_subject({"/bin/sh", "-c", script});
    manifest.hook = false;
    manifest.step = R"(^step (\d+) loss (\S+))";
    manifest.environment["PID_FILE"] = pid_file_.string();
    manifest.start = manifest.quiet = manifest.limit = std::chrono::seconds(60);
    manifest.disk = manifest.largest_file = 8 << 20;
    const auto record = LocalRunner(manifest).run(subject_plan(), {.directory = kept});
    ASSERT_TRUE(record) << record.error().text();
    EXPECT_THAT(record->notes, Contains(HasSubstr("it wrote more than 8 MiB")));
    std::string place;
    std::getline(std::ifstream(pid_file_) >> std::ws, place);
    EXPECT_LE(place.size(), 40u) << place;
    EXPECT_FALSE(fs::exists(place)) << place;
    fs::remove_all(kept.parent_path());
}

TEST_F(DeviceBadSubject, ThatNeverEndsIsStoppedAtItsLimit) {
    const Record record = play("while :; do echo step 0 loss 1; sleep 0.1; done",
                               [](Manifest& manifest) { manifest.limit = std::chrono::seconds(1); });
    EXPECT_THAT(record.notes, Contains(HasSubstr("over the limit")));
    EXPECT_FALSE(record.truth.completed());
}

TEST_F(DeviceBadSubject, ThatTalksWithoutEndCostsBoundedMemory) {
    const Record record = play("echo step 0 loss 1; yes | head -n 400000");
    EXPECT_THAT(record.notes, Contains(HasSubstr("lines of output were dropped")));
    EXPECT_TRUE(record.truth.completed());
}

}  // namespace
}  // namespace deadrank::runners
