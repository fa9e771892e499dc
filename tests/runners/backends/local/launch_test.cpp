// tests/runners/backends/local/launch_test.cpp — Processes are started, followed, bounded and ended, without
// any torch.
#include "runners/backends/process/launch.h"

#include <fcntl.h>
#include <fstream>
#include <gtest/gtest.h>
#include <signal.h>
#include <thread>
#include <unistd.h>

#include "runners/backends/process/job_processes.h"

namespace deadrank::runners {
namespace {

namespace fs = std::filesystem;

class LocalLaunch : public testing::Test {
protected:
    LocalLaunch() {
        for (const char* part : {"evidence", "logs"}) fs::create_directories(directory_ / part);
    }
    ~LocalLaunch() override { fs::remove_all(directory_); }

    LaunchSpec shell(const std::string& script) const {
        LaunchSpec spec;
        spec.children.push_back({results::no_rank,
                                 {"/bin/sh", "-c", script},
                                 {"PATH=/usr/bin:/bin", "DIRECTORY=" + directory_.string(), mark()}});
        spec.directory = directory_;
        spec.quiet = std::chrono::seconds(20);
        spec.limit = std::chrono::seconds(20);
        return spec;
    }
    std::string mark() const { return "DEADRANK_EVIDENCE=" + (directory_ / "evidence").string(); }

    fs::path directory_ = fs::temp_directory_path() / ("deadrank-launch-test-" + std::to_string(getpid()));
};

std::string texts(const Launched& launched) {
    std::string all;
    for (const Line& line : launched.lines) all += (line.error ? "!" : "") + line.text + "\n";
    return all;
}

// Goal: output and exit of a job arrive whole, its last line too.
TEST_F(LocalLaunch, KeepsOutputAndExit) {
    const auto done = launch(shell("echo one; echo two >&2; printf three; exit 7"));
    ASSERT_TRUE(done) << done.error().text();
    EXPECT_EQ(done->end, LaunchEnd::ended);
    EXPECT_EQ(done->launcher.code, 7);
    for (const char* line : {"one\n", "!two\n", "three\n"}) {
        EXPECT_NE(texts(*done).find(line), std::string::npos) << texts(*done);
    }
}

// Goal: a port that we close is closed: no child holds it as well.
TEST_F(LocalLaunch, AChildHoldsNothingOfOurs) {
    const int ours = open("/", O_RDONLY);  // inherited by whoever does not take care
    const auto done = launch(shell("ls -l /proc/self/fd | grep -c -- '-> /$'"));
    close(ours);
    ASSERT_TRUE(done);
    EXPECT_EQ(texts(*done), "0\n");
}

TEST_F(LocalLaunch, TellsASignalFromACode) {
    const auto done = launch(shell("kill -SEGV $$"));
    ASSERT_TRUE(done);
    EXPECT_EQ(done->launcher.signal, SIGSEGV);
}

// Goal: ranks that a launcher started are known by their evidence, and their log files by their place.
TEST_F(LocalLaunch, FollowsRanksOfALauncher) {
    const auto done = launch(shell(R"(
        mkdir -p $DIRECTORY/logs/x/attempt_0/1
        sh -c 'echo "{\"t\": 1, \"rank\": 1, \"kind\": \"rank.start\", \"pid\": $$, \"node\": 0}" \
            >$DIRECTORY/evidence/rank1.jsonl
            echo from rank one >$DIRECTORY/logs/x/attempt_0/1/stderr.log; sleep 0.3'
        sleep 0.3)"));
    ASSERT_TRUE(done);
    ASSERT_EQ(done->ranks.size(), 1u);
    const auto& [pid, rank] = *done->ranks.begin();
    EXPECT_EQ(rank, 1);
    ASSERT_TRUE(done->gone.contains(pid));
    EXPECT_LT(done->gone.at(pid).at, done->ended);
    EXPECT_NE(texts(*done).find("!from rank one"), std::string::npos) << texts(*done);
}

// Goal: a job that hangs is ended in time, with everything it started, even what left its session or is
// stopped.
TEST_F(LocalLaunch, LeavesNothingRunning) {
    LaunchSpec spec = shell("setsid sleep 300 & setsid sh -c 'kill -STOP $$' & sleep 300");
    spec.quiet = std::chrono::milliseconds(300);
    const auto before = now();
    const auto done = launch(spec);
    ASSERT_TRUE(done);
    EXPECT_EQ(done->end, LaunchEnd::stuck);
    EXPECT_LT(now() - before, 5'000'000'000);
    EXPECT_EQ(end_all_marked(mark()), 0);
}

TEST_F(LocalLaunch, EndsAJobThatTalksForever) {
    LaunchSpec spec = shell("while :; do echo on; sleep 0.05; done");
    spec.limit = std::chrono::milliseconds(400);
    const auto done = launch(spec);
    ASSERT_TRUE(done);
    EXPECT_EQ(done->end, LaunchEnd::over_limit);
    EXPECT_FALSE(done->lines.empty());
}

// Goal: an interrupt keeps what there is.
TEST_F(LocalLaunch, StopsWhenAsked) {
    std::atomic<bool> stop = false;
    LaunchSpec spec = shell("echo said; sleep 300");
    spec.stop = &stop;
    std::jthread asker([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
        stop = true;
    });
    const auto done = launch(spec);
    ASSERT_TRUE(done);
    EXPECT_EQ(done->end, LaunchEnd::stopped);
    EXPECT_NE(texts(*done).find("said"), std::string::npos);
}

TEST_F(LocalLaunch, NamesAProgramThatIsMissing) {
    LaunchSpec spec = shell("");
    spec.children.front().command = {"/no/such/program"};
    const auto done = launch(spec);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, scenarios::ErrorCode::environment);
    EXPECT_NE(done.error().what.find("/no/such/program"), std::string::npos);
}

}  // namespace
}  // namespace deadrank::runners
