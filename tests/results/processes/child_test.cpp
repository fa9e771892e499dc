// tests/results/processes/child_test.cpp — Children of ours: their surroundings and their ends.
// Goal: a program gets what its command names and nothing else of ours, and no bound is passed unseen.
#include "results/processes/child.h"

#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "results/processes/bounded.h"

namespace deadrank::results::processes {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

std::string printed_by(Command command) {
    auto child = Child::start(command);
    if (!child) return child.error().text();
    std::string text;
    while (child->output.read(text)) continue;
    child->wait();
    return text;
}

Command shell(const std::string& line) { return {.argv = {"/bin/sh", "-c", line}}; }

TEST(Child, RunsInItsDirectoryWithItsEnvironmentAlone) {
    Command command = shell("pwd; /usr/bin/env");
    command.directory = "/usr";
    command.environment = {"DEADRANK_TEST=1"};
    const std::string printed = printed_by(command);
    EXPECT_THAT(printed, HasSubstr("/usr\n"));
    EXPECT_THAT(printed, HasSubstr("DEADRANK_TEST=1\n"));
    EXPECT_THAT(printed, testing::Not(HasSubstr("HOME=")));
}

TEST(Child, InheritsNoDescriptor) {
    const int open_one = open("/dev/null", O_RDONLY);  // without O_CLOEXEC
    ASSERT_GE(open_one, 3);
    const std::string question =
        fmt::format("test -e /proc/self/fd/{} && echo inherited || echo closed", open_one);
    EXPECT_EQ(printed_by(shell(question)), "closed\n");
    close(open_one);
}

TEST(Child, SearchesThePathOfItsOwnEnvironment) {
    EXPECT_THAT(printed_by({.argv = {"true"}, .environment = {"PATH=/nowhere"}}),
                HasSubstr("cannot start 'true': No such file or directory"));
}

TEST(Child, NamesAProgramThatCannotBeExecuted) {
    EXPECT_THAT(printed_by({.argv = {"/etc/passwd"}}),
                HasSubstr("cannot start '/etc/passwd': Permission denied"));
    Command lost = shell("true");
    lost.directory = "/no/such/directory";
    EXPECT_THAT(printed_by(lost), HasSubstr("No such file or directory"));
}

// A program that ignores SIGTERM and starts another one, as launchers do.
TEST(Child, EndsTheWholeGroupAfterItsGrace) {
    Command command = shell("trap '' TERM; sleep 60 & echo $!; wait");
    command.group = Command::Group::own_group;
    command.grace = 100ms;
    pid_t grandchild = 0;
    const auto began = std::chrono::steady_clock::now();
    {
        auto child = Child::start(command);
        ASSERT_TRUE(child) << child.error().text();
        std::string line;
        ASSERT_TRUE(child->output.read(line));
        grandchild = std::atoi(line.c_str());
        ASSERT_EQ(kill(grandchild, 0), 0);
        child->end();
        EXPECT_EQ(child->wait().signal, SIGKILL);
    }
    EXPECT_GE(std::chrono::steady_clock::now() - began, 100ms);
    for (int look = 0; look < 100 && kill(grandchild, 0) == 0; ++look) usleep(20'000);
    EXPECT_NE(kill(grandchild, 0), 0);
}

TEST(Child, AsksBeforeItKills) {
    Command command = shell("trap 'exit 7' TERM; echo ready; while :; do sleep 0.05; done");
    command.grace = 20s;
    auto child = Child::start(command);
    ASSERT_TRUE(child) << child.error().text();
    std::string line;
    ASSERT_TRUE(child->output.read(line));
    child->end();
    EXPECT_EQ(child->wait().code, 7);
}

TEST(Child, IsAwaitedNoLongerThanTheLimit) {
    auto child = Child::start(shell("read line; exit 3"));
    auto slow = Child::start(shell("exec sleep 60"));
    ASSERT_TRUE(child && slow);
    const auto began = std::chrono::steady_clock::now();
    EXPECT_FALSE(slow->wait_within(50ms));
    EXPECT_GE(std::chrono::steady_clock::now() - began, 50ms);
    ASSERT_TRUE(child->wait_within(60s));
    EXPECT_LT(std::chrono::steady_clock::now() - began, 50s);
    EXPECT_EQ(child->wait().code, 3);
}

TEST(Child, WritesToItsLog) {
    const auto log = std::filesystem::temp_directory_path() / fmt::format("deadrank-child-{}.log", getpid());
    {
        auto child = start_daemon({"/bin/sh", "-c", "echo out; echo error >&2; exec sleep 60"}, log);
        ASSERT_TRUE(child) << child.error().text();
        for (int look = 0; look < 500 && std::filesystem::file_size(log) < 10; ++look) usleep(20'000);
        EXPECT_FALSE(child->poll());
    }
    EXPECT_EQ(std::filesystem::file_size(log), 10u);
    std::filesystem::remove(log);
}

TEST(RunBounded, EndsWhatIsOverItsBounds) {
    const auto late = run_bounded({"sleep", "60"}, {.time = 100ms});
    ASSERT_TRUE(late);
    EXPECT_EQ(late->ending, Ending::out_of_time);
    const auto loud = run_bounded({"yes"}, {.output = 10'000});
    ASSERT_TRUE(loud);
    EXPECT_EQ(loud->ending, Ending::too_much_output);
    EXPECT_GT(loud->out.size(), 10'000u);
}

TEST(RunBounded, DoesNotWaitForAGrandchildThatHoldsThePipe) {
    const auto began = std::chrono::steady_clock::now();
    const auto answer = run_bounded({"sh", "-c", "echo done; sleep 60 &"}, {});
    ASSERT_TRUE(answer);
    EXPECT_TRUE(answer->well());
    EXPECT_EQ(answer->out, "done\n");
    EXPECT_LT(std::chrono::steady_clock::now() - began, 30s);
}

TEST(RunBounded, TellsAnExitFromASignal) {
    const auto exited = run_bounded({"sh", "-c", "exit 3"}, {});
    const auto killed = run_bounded({"sh", "-c", "kill -SEGV $$"}, {});
    ASSERT_TRUE(exited && killed);
    EXPECT_EQ(exited->how(), "ended with code 3");
    EXPECT_EQ(killed->ending, Ending::signal);
    EXPECT_THAT(killed->how(), HasSubstr("signal 11"));
}

// A PATH may name directories that this user cannot enter, or that are too long to be any.
TEST(FindProgram, PassesOverDirectoriesThatCannotBeRead) {
    const std::string before = std::getenv("PATH");
    const std::string long_name(5000, 'x');
    ::setenv("PATH", ("/" + long_name + ":/dev/null:" + before).c_str(), 1);
    EXPECT_FALSE(find_program("sh").empty());
    ::setenv("PATH", before.c_str(), 1);
}

}  // namespace
}  // namespace deadrank::results::processes
