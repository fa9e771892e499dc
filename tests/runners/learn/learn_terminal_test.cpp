// tests/runners/learn/learn_terminal_test.cpp — Goal: in a terminal, where a reader types and sees colour, a
// lesson goes from its first clue to the healed run; Ctrl-C leaves it and keeps what was learnt.
#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/shell.h"

namespace deadrank::tests {
namespace {

namespace fs = std::filesystem;

// A program in a terminal of its own, and somebody who reads and types there.
class Terminal {
public:
    explicit Terminal(const std::string& command) {
        winsize size{40, 100, 0, 0};
        child_ = forkpty(&screen_, nullptr, nullptr, &size);
        if (child_ != 0) return;
        setenv("TERM", "xterm", 1);
        unsetenv("NO_COLOR");
        execl("/bin/sh", "sh", "-c", command.c_str(), static_cast<char*>(nullptr));
        _exit(127);
    }
    Terminal(const Terminal&) = delete;
    Terminal& operator=(const Terminal&) = delete;
    ~Terminal() {
        if (child_ > 0 && !ended_) kill(child_, SIGKILL), waitpid(child_, nullptr, 0);
        close(screen_);
    }

    // Reads until these words stand on the screen behind all that was waited for before.
    bool sees(const std::string& words) {
        for (;;) {
            const std::size_t found = seen_.find(words, read_);
            if (found != std::string::npos) {
                read_ = found + words.size();
                return true;
            }
            if (!more()) return false;
        }
    }
    void types(const std::string& keys) {
        [[maybe_unused]] const auto written = write(screen_, keys.data(), keys.size());
    }
    int code() {
        while (more()) {
        }
        if (silent_) kill(child_, SIGKILL);
        int status = 0;
        waitpid(child_, &status, 0);
        ended_ = true;
        return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    }
    const std::string& seen() const { return seen_; }

private:
    // False at the end, or when nothing comes for a minute.
    bool more() {
        pollfd ready{screen_, POLLIN, 0};
        silent_ = poll(&ready, 1, 60'000) <= 0;
        if (silent_) return false;
        std::array<char, 4096> block;
        const ssize_t got = read(screen_, block.data(), block.size());
        if (got > 0) seen_.append(block.data(), static_cast<std::size_t>(got));
        return got > 0;
    }

    int screen_ = -1;
    pid_t child_ = -1;
    bool ended_ = false, silent_ = false;
    std::string seen_;
    std::size_t read_ = 0;
};

class LearnInATerminal : public testing::Test {
protected:
    void SetUp() override {
        home_ = fs::path(testing::TempDir()) /
                ("deadrank_terminal_" +
                 std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
        fs::remove_all(home_);
        fs::create_directories(home_);
    }
    void TearDown() override { fs::remove_all(home_); }

    std::string command(const std::string& arguments) const {
        return "XDG_STATE_HOME='" + home_.string() +
               "' DEADRANK_CATALOG='" DEADRANK_SOURCE_DIRECTORY
               "/scenarios/catalog' exec " DEADRANK_BINARY_DIRECTORY "/deadrank learn " +
               arguments;
    }

    fs::path home_;
};

constexpr const char* lesson = "communication/rank_leaves_all_reduce";

TEST_F(LearnInATerminal, ALessonGoesFromItsFirstClueToTheHealedRun) {
    const auto key = nlohmann::json::parse(shell(command(std::string(lesson) + " --json")).out);
    const std::string rank = key[0]["challenges"][0]["answer"], step = key[0]["challenges"][1]["answer"],
                      letter = key[0]["challenges"][2]["answer"];
    Terminal terminal(command(lesson));
    ASSERT_TRUE(terminal.sees("Which rank is it?")) << terminal.seen();
    ASSERT_TRUE(terminal.sees("> ")) << "it asks";
    terminal.types("h\n");
    ASSERT_TRUE(terminal.sees("Hint: ")) << terminal.seen();
    ASSERT_TRUE(terminal.sees("> "));
    terminal.types("nobody\n");
    ASSERT_TRUE(terminal.sees("'nobody' is no number here")) << terminal.seen();
    ASSERT_TRUE(terminal.sees("> "));
    terminal.types((rank == "1" ? "2" : "1") + std::string("\n"));
    ASSERT_TRUE(terminal.sees("✘")) << terminal.seen();
    ASSERT_TRUE(terminal.sees("> "));
    terminal.types(rank + "\n");
    ASSERT_TRUE(terminal.sees("✔")) << terminal.seen();
    ASSERT_TRUE(terminal.sees("Since which step?")) << terminal.seen();
    ASSERT_TRUE(terminal.sees("> "));
    terminal.types(step + "\n");
    ASSERT_TRUE(terminal.sees("What is the root cause?")) << terminal.seen();
    ASSERT_TRUE(terminal.sees("> "));
    terminal.types(letter + "\n");
    for (const char* next : {"✔", "What it was", "The fix", "healed", "1 of 1 lesson solved"})
        ASSERT_TRUE(terminal.sees(next)) << next << "\n" << terminal.seen();
    EXPECT_EQ(terminal.code(), 0);
    EXPECT_NE(terminal.seen().find("\x1b["), std::string::npos) << "a terminal has colour";
}

TEST_F(LearnInATerminal, ControlCLeavesAndKeepsWhatWasLearnt) {
    Terminal terminal(command(lesson));
    ASSERT_TRUE(terminal.sees("Which rank is it?")) << terminal.seen();
    ASSERT_TRUE(terminal.sees("> "));
    terminal.types("h\n");
    ASSERT_TRUE(terminal.sees("Hint: "));
    ASSERT_TRUE(terminal.sees("> "));
    terminal.types("\x03");
    EXPECT_EQ(terminal.code(), 130) << terminal.seen();
    const auto listed = nlohmann::json::parse(shell(command("--list communication --json")).out);
    for (const auto& one : listed) {
        if (one["id"] != lesson) continue;
        EXPECT_EQ(one["hints"], 1) << "the hint that was taken is remembered";
    }
}

}  // namespace
}  // namespace deadrank::tests
