// Goal: anybody's command can be a detector; what it says is judged only when it is well formed, and no
// crash, silence without end, flood or nonsense of it does harm.
#include "results/external/command_detector.h"

#include <chrono>
#include <csignal>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "results/detectors/detector.h"
#include "results/processes/bounded.h"
#include "tests/results/evidence_builder.h"

namespace deadrank::tests {
namespace {

using results::external::CommandDetector;
using results::external::Limits;
using results::external::parse_command;
using results::processes::Bounds;
using testing::ElementsAre;
using testing::HasSubstr;

const std::vector<std::string> symptoms = {"collective_deadlock_hang", "straggler_step_time_skew"};

CommandDetector detector(const std::string& command, std::chrono::milliseconds time = 20s) {
    auto parsed = parse_command(command);
    EXPECT_TRUE(parsed) << (parsed ? "" : parsed.error().text());
    Bounds bounds;
    bounds.time = time;
    bounds.output = 1 << 20;
    return CommandDetector(parsed.value(), symptoms, bounds);
}

// Rank 2 of four never comes to the third all-reduce, and is watched for a long time.
results::Evidence hanging_job() {
    EvidenceBuilder builder(4);
    builder.start().world();
    builder.collective(1, 1, {0, 1, 2, 3}).collective(1, 2, {0, 1, 2, 3});
    for (const Rank rank : {0, 1, 3}) builder.enters(rank, 1, 3);
    return builder.watched(300s);
}

std::string complaint(const std::string& command, std::chrono::milliseconds time = 20s) {
    const auto answer = detector(command, time).analyse(hanging_job());
    return answer ? "it was accepted" : answer.error().text();
}

std::string echoing(const std::string& line) { return "printf '%s\\n' " + ("'" + line + "'"); }

TEST(RunProgram, KillsAProgramThatIsToStop) {
    const auto began = std::chrono::steady_clock::now();
    const auto answer = results::processes::run_bounded({"sleep", "60"}, {.stopped = [] { return true; }});
    ASSERT_TRUE(answer) << answer.error().text();
    EXPECT_EQ(answer->ending, results::processes::Ending::stopped);
    EXPECT_EQ(answer->signal, SIGKILL);
    EXPECT_LT(std::chrono::steady_clock::now() - began, 30s);
}

// Who has a name twice hears either value: printenv prints both.
TEST(RunProgram, GivesAVariableItsNewValueAlone) {
    setenv("DEADRANK_TEST_VALUE", "ours", 1);
    const auto answer = results::processes::run_bounded({"printenv", "DEADRANK_TEST_VALUE"}, {}, "",
                                                        {"DEADRANK_TEST_VALUE=theirs"});
    const auto inherited = results::processes::run_bounded({"printenv", "DEADRANK_TEST_VALUE"}, {});
    unsetenv("DEADRANK_TEST_VALUE");
    ASSERT_TRUE(answer && inherited);
    EXPECT_EQ(answer->out, "theirs\n");
    EXPECT_EQ(inherited->out, "ours\n");
}

TEST(CommandDetector, FindsTheHangInTwentyLinesOfPython) {
    const auto one =
        detector("python3 " DEADRANK_SOURCE_DIRECTORY "/results/external/examples/who_never_came.py");
    const auto answer = one.analyse(hanging_job());
    ASSERT_TRUE(answer) << answer.error().text();
    EXPECT_EQ(answer->name, "who_never_came");
    ASSERT_EQ(answer->findings.size(), 1u);
    EXPECT_EQ(answer->findings[0].symptom, "collective_deadlock_hang");
    EXPECT_THAT(answer->findings[0].blame.ranks, ElementsAre(2));
    EXPECT_LT(answer->findings[0].at, hanging_job().observed_until());
    EXPECT_TRUE(one.analyse(EvidenceBuilder(4).start().world().watched(300s))->findings.empty());
}

TEST(CommandDetector, GivesTheEvidenceAsADirectoryWhereTheCommandAsksForIt) {
    const auto answer =
        detector(R"(sh -c 'test "$1" = "$DEADRANK_EVIDENCE" && test -s "$1/evidence.jsonl"' sh {evidence})")
            .analyse(hanging_job());
    EXPECT_TRUE(answer) << answer.error().text();
}

TEST(CommandDetector, GivesTheEventsOnStandardInputOtherwise) {
    const auto answer = detector(R"(sh -c 'grep -q collective.enter')").analyse(hanging_job());
    EXPECT_TRUE(answer) << answer.error().text();
}

TEST(CommandDetector, SignsFindingsWithItsNameAndTimesThemAtTheEndWhenItDoesNotSay) {
    const auto answer =
        detector("mine=" + echoing(R"({"symptom":"collective_deadlock_hang","blame":{"ranks":[3,1,3]}})"))
            .analyse(hanging_job());
    ASSERT_TRUE(answer) << answer.error().text();
    EXPECT_EQ(answer->findings.at(0).detector, "mine");
    EXPECT_EQ(answer->findings.at(0).at, hanging_job().observed_until());
    EXPECT_THAT(answer->findings.at(0).blame.ranks, ElementsAre(1, 3));
}

TEST(CommandDetector, CallsACrashACrash) {
    EXPECT_THAT(complaint("sh -c 'echo no such module >&2; exit 3'"), HasSubstr("ended with code 3"));
    EXPECT_THAT(complaint("sh -c 'echo no such module >&2; exit 3'"), HasSubstr("no such module"));
    EXPECT_THAT(complaint("sh -c 'kill -SEGV $$'"), HasSubstr("signal 11"));
    EXPECT_THAT(complaint("/no/such/program"), HasSubstr("cannot start '/no/such/program'"));
}

TEST(CommandDetector, EndsWhatDoesNotEndAndItsChildren) {
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_THAT(complaint("sh -c 'sleep 600 & sleep 600'", 200ms), HasSubstr("still running"));
    EXPECT_THAT(complaint("sh -c 'while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done'"),
                HasSubstr("bytes and was ended"));
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 300s);
}

TEST(CommandDetector, DoesNotWaitForAChildThatItsCommandLeftBehind) {
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_TRUE(detector("sh -c 'sleep 600 &'").analyse(hanging_job()));
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 300s);
}

TEST(CommandDetector, TakesNoNonsense) {
    EXPECT_THAT(complaint("echo hello"), HasSubstr("line 1: 'hello' is no JSON object"));
    EXPECT_THAT(complaint(echoing(R"({"symptom":"a_new_one"})")), HasSubstr("not a symptom of the taxonomy"));
    EXPECT_THAT(complaint(echoing(R"({"symptom":7})")), HasSubstr("wrong type"));
    EXPECT_THAT(complaint(echoing(R"({"symptom":"collective_deadlock_hang","blame":{"ranks":[4]}})")),
                HasSubstr("there is no rank 4"));
    EXPECT_THAT(complaint(echoing(R"({"symptom":"collective_deadlock_hang","at":999000000000})")),
                HasSubstr("nothing was observed"));
    EXPECT_THAT(complaint(echoing(R"({"symptom":"collective_deadlock_hang","rank":2})")),
                HasSubstr("unknown key 'rank'"));
    EXPECT_THAT(complaint(echoing(R"({"hello":1})")), HasSubstr("unknown key 'hello'"));
}

TEST(CommandDetector, CountsAsCrashedBesideTheOthers) {
    results::Detectors detectors;
    detectors.push_back(std::make_unique<CommandDetector>(detector("mine=echo hello")));
    const auto findings = results::detect(hanging_job(), detectors);
    ASSERT_EQ(findings.size(), 1u);
    EXPECT_EQ(findings[0].symptom, "detector_crashed");
    EXPECT_EQ(findings[0].detector, "mine");
}

TEST(CommandDetector, ReadsWordsAsAShellDividesThem) {
    const auto parsed = parse_command(R"(mine=python3 'a b.py' "{evidence}/x" '' c"d"e)");
    ASSERT_TRUE(parsed);
    EXPECT_EQ(parsed->name, "mine");
    EXPECT_THAT(parsed->argv, ElementsAre("python3", "a b.py", "{evidence}/x", "", "cde"));
    EXPECT_TRUE(parsed->takes_directory());
    EXPECT_EQ(parse_command("python3 tools/hang.py")->name, "hang");
    EXPECT_FALSE(parse_command("  "));
    EXPECT_FALSE(parse_command("a 'b"));
}

}  // namespace
}  // namespace deadrank::tests
