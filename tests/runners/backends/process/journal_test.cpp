// Goal: what a run did to the machine is on disk before it is done; what a killed run did is taken back, a
// living run's are left alone, and nothing else is touched.
#include "runners/backends/process/journal.h"

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "runners/backends/process/job_processes.h"
#include "tests/support/shell.h"

namespace deadrank::runners {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using Undo = UndoAction::Undo;

class JournalTest : public testing::Test {
protected:
    void SetUp() override {
        place_ = fs::path(testing::TempDir()) / ("deadrank_journal_" + std::to_string(getpid()));
        fs::remove_all(place_);
        fs::create_directories(place_);
    }
    void TearDown() override { fs::remove_all(place_); }

    // A process that does `work` and is killed before it can take anything back.
    template <class Work>
    void killed_after(const Work& work) {
        const pid_t child = fork();
        if (child == 0) {
            work();
            raise(SIGKILL);
        }
        int status = 0;
        waitpid(child, &status, 0);
        ASSERT_TRUE(WIFSIGNALED(status));
    }
    void note_and_die(const UndoAction& action) {
        killed_after([&] {
            auto journal = Journal::open(journals());
            auto entry = journal->note(action);
            raise(SIGKILL);
        });
    }
    fs::path journals() const { return place_ / "undo"; }
    fs::path place_;
};

TEST_F(JournalTest, ARunThatTakesBackItsDeedsLeavesNothing) {
    {
        auto journal = Journal::open(journals());
        ASSERT_TRUE(journal) << journal.error().text();
        auto entry = journal->note({Undo::remove_directory, "/nowhere"});
        ASSERT_TRUE(entry);
        EXPECT_FALSE(fs::is_empty(journals()));
    }
    EXPECT_TRUE(fs::is_empty(journals()));
}

TEST_F(JournalTest, TheDeedsOfALivingRunAreItsOwn) {
    auto journal = Journal::open(journals());
    auto entry = journal->note({Undo::remove_directory, "/nowhere"});
    EXPECT_THAT(*leftovers(journals()), IsEmpty());
}

TEST_F(JournalTest, AKilledRunsDirectoryGoesIfItBearsOurMark) {
    fs::create_directories(place_ / "ours");
    fs::create_directories(place_ / "hers");
    std::ofstream(place_ / "ours/.deadrank") << "x";
    std::ofstream(place_ / "hers/thesis.txt") << "x";
    note_and_die({Undo::remove_directory, (place_ / "ours").string()});
    note_and_die({Undo::remove_directory, (place_ / "hers").string()});
    const auto left = leftovers(journals());
    ASSERT_THAT(*left, SizeIs(2));
    const auto undone = undo(*left);
    ASSERT_THAT(undone, SizeIs(2));
    EXPECT_FALSE(fs::exists(place_ / "ours"));
    EXPECT_TRUE(fs::exists(place_ / "hers/thesis.txt"));
    EXPECT_THAT(*leftovers(journals()), SizeIs(1)) << "what could not be taken back stays written down";
}

TEST_F(JournalTest, DeedsAreTakenBackNewestFirst) {
    killed_after([&] {
        auto journal = Journal::open(journals());
        auto first = journal->note({Undo::remove_directory, "/first"});
        auto second = journal->note({Undo::remove_directory, "/second"});
        raise(SIGKILL);
    });
    const auto undone = undo(*leftovers(journals()));
    ASSERT_THAT(undone, SizeIs(2));
    EXPECT_EQ(undone[0].action.of, "/second");
    EXPECT_EQ(undone[1].action.of, "/first");
}

TEST_F(JournalTest, LeftoversTellWhoseTheyAreTheLatestFirst) {
    note_and_die({Undo::remove_directory, "/first"});
    std::this_thread::sleep_for(std::chrono::milliseconds(1100));  // times are whole seconds
    note_and_die({Undo::remove_directory, "/second"});
    const auto left = leftovers(journals());
    ASSERT_THAT(*left, SizeIs(2));
    EXPECT_EQ(left->front().actions.front().of, "/second");
    EXPECT_GT(left->front().begun, left->back().begun);
    EXPECT_THAT(left->front().command, HasSubstr("_tests"));
    EXPECT_EQ(undo(*left).back().left_by, 1U);
}

TEST_F(JournalTest, AFileThatWasChangedIsRestored) {
    std::ofstream(place_ / "shard.bin") << "damaged";
    std::ofstream(place_ / "shard.bin.kept") << "whole";
    note_and_die(
        {Undo::restore_file, (place_ / "shard.bin").string() + "\n" + (place_ / "shard.bin.kept").string()});
    EXPECT_TRUE(undo(*leftovers(journals())).front().done);
    std::ifstream in(place_ / "shard.bin");
    std::string text;
    in >> text;
    EXPECT_EQ(text, "whole");
}

TEST_F(JournalTest, AStoppedProcessGoesOnAndALaterOneWithItsNumberIsLeftAlone) {
    const pid_t child = fork();
    if (child == 0) {
        raise(SIGSTOP);
        _exit(7);
    }
    int status = 0;
    waitpid(child, &status, WUNTRACED);
    note_and_die(
        {Undo::resume_process, std::to_string(child) + " 1"});  // another start time: another process
    EXPECT_THAT(undo(*leftovers(journals())).front().says, HasSubstr("is gone"));
    EXPECT_EQ(waitpid(child, &status, WNOHANG), 0) << "it was not the one that was stopped, yet it went on";
    note_and_die({Undo::resume_process, identity_of(child)});
    EXPECT_THAT(undo(*leftovers(journals())).front().says, HasSubstr("goes on"));
    waitpid(child, &status, 0);
    EXPECT_EQ(WEXITSTATUS(status), 7);
}

TEST_F(JournalTest, ATornLastLineIsADeedThatWasNeverDone) {
    note_and_die({Undo::remove_directory, "/first"});
    const fs::path file = leftovers(journals())->front().journal;
    std::ofstream(file, std::ios::app) << R"({"n":2,"undo":"remove_dir)";
    EXPECT_THAT(leftovers(journals())->front().actions, SizeIs(1));
}

TEST_F(JournalTest, ADirectoryWithoutRightsIsRefusedBeforeAnythingIsDone) {
    const auto journal = Journal::open("/proc/undo");
    ASSERT_FALSE(journal);
    EXPECT_THAT(journal.error().text(), HasSubstr("DEADRANK_STATE"));
}

// A process may end between the opening of its file and the reading; memory that cannot be read does the
// same.
TEST(ProcessText, IsEmptyWhenTheFileOpensAndCannotBeRead) {
    EXPECT_THAT(process_text(getpid(), "stat"), testing::StartsWith(std::to_string(getpid()) + " ("));
    EXPECT_EQ(process_text(getpid(), "mem"), "");
    EXPECT_EQ(process_text(getpid(), "no_such_file"), "");
}

// The whole of it: a real job, its harness killed in the middle, and one command.
TEST(DeviceUndo, EndsTheJobOfAHarnessThatWasKilled) {
    const fs::path place = fs::path(testing::TempDir()) / ("deadrank_undo_" + std::to_string(getpid()));
    fs::create_directories(place);
    const std::string deadrank = "DEADRANK_STATE='" + place.string() + "' TMPDIR='" + place.string() +
                                 "' " DEADRANK_BINARY_DIRECTORY "/deadrank ";
    const std::string ours =
        "grep -lsz '^DEADRANK_EVIDENCE=" + place.string() + "' /proc/[0-9]*/environ | wc -l";
    const auto script = tests::shell(
        deadrank +
        "run communication/stopped_rank_times_out_its_peers --runner local >/dev/null 2>&1 & harness=$!\n" +
        "for i in $(seq 300); do [ \"$(" + ours + ")\" -ge 2 ] && break; sleep 0.2; done\n" + "before=$(" +
        ours + "); kill -9 $harness; wait $harness 2>/dev/null\n" + "after=$(" + ours + ")\n" + deadrank +
        "undo\n" + "echo before=$before after=$after left=$(" + ours + ") files=$(ls -d '" + place.string() +
        "'/deadrank-* 2>/dev/null | wc -l)");
    if (script.out.find("before=0") != std::string::npos) {
        fs::remove_all(place);
        GTEST_SKIP() << "no real job could be started here:\n" << script.out;
    }
    EXPECT_THAT(script.out, HasSubstr("left=0 files=0")) << script.out;
    EXPECT_THAT(script.out, testing::Not(HasSubstr("after=0")))
        << "the harness took its job with it; nothing to undo";
    EXPECT_THAT(script.out, HasSubstr("ended")) << script.out;
    fs::remove_all(place);
}

}  // namespace
}  // namespace deadrank::runners
