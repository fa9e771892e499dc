// tests/runners/backends/local/readers_test.cpp — Lines of hooks, of training programs and of torchrun become
// events.
#include <cmath>
#include <fstream>
#include <gtest/gtest.h>

#include "results/record/evidence.h"
#include "results/record/log_level.h"
#include "runners/backends/local/rank_log.h"
#include "runners/backends/process/event_reader.h"

namespace deadrank::runners {
namespace {

// Goal: a hook's line is the event it describes, at its time since the start.
TEST(HookLine, IsAnEvent) {
    results::Evidence evidence;
    ASSERT_TRUE(
        read_event(R"({"t": 1500, "rank": 2, "kind": "collective.enter", "comm": 1, "seq": 9, "count": 64,
                               "root": -1, "op": "all_reduce", "dtype": "f32", "reduce": "sum"})",
                   1000, evidence));
    ASSERT_EQ(evidence.events().size(), 1u);
    const results::Event& event = evidence.events().front();
    const auto* enter = event.as<results::CollectiveEnter>();
    ASSERT_TRUE(enter);
    EXPECT_EQ(event.at.count(), 500);
    EXPECT_EQ(event.rank, 2);
    EXPECT_EQ(enter->count, 64);
    EXPECT_EQ(enter->op, results::Op::all_reduce);
    EXPECT_EQ(enter->dtype, results::Dtype::f32);
    EXPECT_EQ(enter->reduce, results::ReduceOp::sum);
}

TEST(HookLine, KeepsNumbersThatJsonHasNoWordsFor) {
    results::Evidence evidence;
    ASSERT_TRUE(read_event(
        R"({"t": 1, "rank": 0, "kind": "step.end", "step": 1, "loss": "nan", "gradient_norm": "-inf"})", 0,
        evidence));
    const auto* end = evidence.events().front().as<results::StepEnd>();
    EXPECT_TRUE(std::isnan(end->loss));
    EXPECT_TRUE(std::isinf(end->gradient_norm) && end->gradient_norm < 0);
}

TEST(HookLine, KeepsAllBitsOfADigest) {
    results::Evidence evidence;
    ASSERT_TRUE(read_event(
        R"({"t": 1, "rank": 0, "kind": "parameters.digest", "step": 1, "digest": 15195409493055663625})", 0,
        evidence));
    EXPECT_EQ(evidence.events().front().as<results::ParametersDigest>()->digest, 15195409493055663625u);
}

// Goal: what a killed rank left half-written is refused, not guessed at.
TEST(HookLine, IsRefusedWhenTornOrUnknown) {
    results::Evidence evidence;
    EXPECT_FALSE(read_event(R"({"t": 1500, "rank": 2, "kind": "collect)", 0, evidence));
    EXPECT_FALSE(read_event(R"({"t": 1500, "rank": 2, "kind": "tea.time"})", 0, evidence));
    EXPECT_FALSE(read_event("[]", 0, evidence));
    EXPECT_FALSE(read_event("", 0, evidence));
    EXPECT_TRUE(evidence.events().empty());
}

Line said(std::string text, bool error = false) {
    return {.at = 2000, .rank = 1, .error = error, .text = std::move(text)};
}

TEST(JobLog, ShowsStepsSettingsAndShards) {
    results::Evidence evidence;
    const Line lines[] = {said("config tp_size=2 seed=5"),
                          said("shard tensor=flat offset=-3 length=8 total=24"),
                          said("step=7 loss=0.125000")};
    const LogReading reading = read_log(lines, 1000, evidence);
    ASSERT_TRUE(reading.steps.contains({1, 7}));
    EXPECT_DOUBLE_EQ(reading.steps.at({1, 7}).loss, 0.125);
    EXPECT_EQ(evidence.each<results::RankConfig>().size(), 2u);
    ASSERT_EQ(evidence.each<results::ShardLayout>().size(), 1u);
    EXPECT_EQ(evidence.each<results::ShardLayout>().front()->as<results::ShardLayout>()->offset, -3);
    EXPECT_EQ(evidence.each<results::RankLog>().size(), 3u);
}

// Goal: what Ray prints of a worker is that rank's word; of its other processes it is nobody's.
TEST(JobLog, GivesLinesToTheRankWhoseProcessIsNamed) {
    const std::string cyan = "\x1b[36m", plain = "\x1b[0m";
    const Line lines[] = {
        {.text = cyan + "(RayTrainWorker pid=7811)" + plain + " OSError: [Errno 28] No space" + plain},
        {.text = "(RayTrainWorker pid=7835, ip=10.0.0.2) done"},
        {.text = "(TrainController pid=7713) OSError: [Errno 28]"},
        {.rank = 1, .text = "(RayTrainWorker pid=7811) mine"}};
    const auto given = given_to_ranks(lines, {{7811, 0}, {7835, 1}});
    EXPECT_EQ(given[0].rank, 0);
    EXPECT_EQ(given[0].text, "OSError: [Errno 28] No space");
    EXPECT_EQ(given[1].rank, 1);
    EXPECT_EQ(given[1].text, "done");
    EXPECT_EQ(given[2].rank, results::no_rank);
    EXPECT_EQ(given[3].text, "(RayTrainWorker pid=7811) mine");
}

// Goal: how children ended is read from what torchrun says, by pid.
TEST(JobLog, ReadsEndsFromTorchrun) {
    results::Evidence evidence;
    const Line lines[] = {
        said("W1121 api.py:1012] Sending process 13878 closing signal SIGTERM", true),
        said("E1121 api.py:986] failed (exitcode: -6) local_rank: 1 (pid: 13879) of binary: /usr/bin/python3",
             true),
        said("  exitcode  : 1 (pid: 13880)", true),
        said("W1121 api.py:1031] Unable to shutdown process 13881 via 15, forcefully exiting via 9", true)};
    const LogReading reading = read_log(lines, 0, evidence);
    EXPECT_EQ(reading.exits.at(13878).signal, 15);
    EXPECT_EQ(reading.exits.at(13879).signal, 6);
    EXPECT_EQ(reading.exits.at(13880).code, 1);
    EXPECT_EQ(reading.exits.at(13880).signal, 0);
    EXPECT_EQ(reading.exits.at(13881).signal, 9);
}

TEST(JobLog, GradesLinesByWhatTheySay) {
    EXPECT_EQ(results::log_level("step=1 loss=2", false), 0);
    EXPECT_EQ(results::log_level("UserWarning: slow", true), 1);
    EXPECT_EQ(results::log_level("t.py: error: argument --lr: expected one argument", true), 2);
    EXPECT_EQ(results::log_level("RuntimeError: Timed out waiting 5000ms", true), 2);
}

TEST(JobLog, TakesTheEndOfATracebackForAnErrorWhateverItIsCalled) {
    const auto last_level = [](const std::string& last) {
        results::LogLevels levels;
        EXPECT_EQ(levels.of_next("[rank1]: " + last, true), 0) << "it ends no traceback";
        EXPECT_EQ(levels.of_next("[rank1]: Traceback (most recent call last):", true), 2);
        EXPECT_EQ(levels.of_next("[rank1]:   File \"t.py\", line 5, in <module>", true), 0);
        const int level = levels.of_next("[rank1]: " + last, true);
        EXPECT_EQ(levels.of_next("[rank1]: Unsupported: later", true), 0) << "the traceback is over";
        return level;
    };
    EXPECT_EQ(last_level("torch._dynamo.exc.Unsupported: no such method"), 2);
    EXPECT_EQ(last_level("NothingToTrain"), 2);
    EXPECT_EQ(last_level("KeyboardInterrupt"), 0);
    EXPECT_EQ(last_level("and a sentence: of another thread"), 0);
}

// Goal: a file is read as it grows, line by line, and its torn end last.
TEST(Follow, GivesEachLineOnce) {
    const auto file = std::filesystem::path(testing::TempDir()) / "deadrank-follow-test";
    std::ofstream out(file, std::ios::trunc);
    Follow follow;
    std::vector<std::string> lines;
    const auto keep = [&](std::string_view line) { lines.emplace_back(line); };
    out << "one\ntw" << std::flush;
    EXPECT_TRUE(follow.look(file, keep));
    EXPECT_FALSE(follow.look(file, keep));
    out << "o\nthree" << std::flush;
    EXPECT_TRUE(follow.look(file, keep));
    follow.rest([&](const auto&, std::string_view text) { keep(text); });
    EXPECT_EQ(lines, (std::vector<std::string>{"one", "two", "three"}));
    std::filesystem::remove(file);
}

}  // namespace
}  // namespace deadrank::runners
