// Goal: the program answers bad input with one sentence that has a place and a remedy, exit code 64, and
// touches nothing; good input gives what scripts were promised.
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "results/reports/style.h"
#include "runners/program/old_names.h"
#include "runners/program/program.h"
#include "tests/support/shell.h"

namespace deadrank::tests {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
namespace fs = std::filesystem;

Answer deadrank(const std::string& arguments, const std::string& streams = "2>&1") {
    return shell("DEADRANK_CATALOG='" DEADRANK_SOURCE_DIRECTORY
                 "/scenarios/catalog' " DEADRANK_BINARY_DIRECTORY "/deadrank " +
                 arguments + " " + streams);
}

void expect_refusal(const std::string& arguments, const std::string& words) {
    const Answer answer = deadrank(arguments);
    EXPECT_EQ(answer.code, 64) << "deadrank " << arguments << "\n" << answer.out;
    EXPECT_THAT(answer.out, HasSubstr(words)) << "deadrank " << arguments;
    EXPECT_THAT(answer.out, StartsWith("deadrank: "));
}

// A file in a directory of its own, gone after the test.
class Cli : public testing::Test {
protected:
    void SetUp() override {
        directory_ =
            fs::path(testing::TempDir()) /
            ("deadrank_cli_" + std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
        fs::remove_all(directory_);
        fs::create_directories(directory_);
    }
    void TearDown() override { fs::remove_all(directory_); }
    std::string write(const std::string& name, const std::string& text) const {
        std::ofstream(directory_ / name) << text;
        return (directory_ / name).string();
    }
    // The scenario that everybody starts from, with one piece of its text replaced.
    std::string altered(const std::string& from, const std::string& to) const {
        std::ifstream in(DEADRANK_SOURCE_DIRECTORY
                         "/scenarios/catalog/communication/rank_leaves_all_reduce.toml");
        std::string text((std::istreambuf_iterator<char>(in)), {});
        const std::size_t at = text.find(from);
        EXPECT_NE(at, std::string::npos) << from;
        if (at != std::string::npos) text.replace(at, from.size(), to);
        return write("altered.toml", text);
    }
    fs::path directory_;
};

TEST_F(Cli, RefusesWhatItDoesNotKnowAndNamesTheNearest) {
    expect_refusal("rnu", "'rnu' is not a command — did you mean 'run'?");
    expect_refusal("run --sede 3", "did you mean '--seed'?");
    expect_refusal("run rank_leaves_all_redcue", "did you mean 'rank_leaves_all_reduce'?");
    expect_refusal("run --symptom collective_deadlock_hnag", "did you mean 'collective_deadlock_hang'?");
    expect_refusal("run --runner simm", "did you mean 'sim'?");
    expect_refusal("explain kill_rnak", "did you mean 'kill_rank'?");
    expect_refusal("replay dr1-nonsense", "is not a token");
}

TEST_F(Cli, RefusesValuesWithWhatWouldDo) {
    expect_refusal("run --seeds 5..1", "--seeds '5..1' is not a range — write it as A..B");
    expect_refusal("run --seeds 5..", "--seeds '5..' is not a range");
    expect_refusal("run --seed x", "--seed");
    expect_refusal("run --jobs 0", "--jobs");
    expect_refusal("replay plan", "scenario is required");
    EXPECT_EQ(deadrank("").code, 64);
    expect_refusal("alerts --prometheus localhost:9090", "'localhost:9090' is no address");
}

TEST_F(Cli, NamesThePlaceOfAMistakeInAScenario) {
    expect_refusal("run " + write("torn.toml", "format = 1\n[bug\n"), "torn.toml:2:");
    expect_refusal("run " + altered("steps = 20", "stpes = 20"), "altered.toml:22:1: ");
    expect_refusal("run " + altered("steps = 20", "stpes = 20"), "steps");
    expect_refusal("run " + altered("kind = \"kill_rank\"", "kind = \"kill_rnak\""), "kill_rank");
    expect_refusal(
        "run " + altered("symptom = \"collective_deadlock_hang\"", "symptom = \"collective_hang\""),
        "collective_hang");
}

TEST_F(Cli, RefusesDirectoriesThatGiveNothing) {
    expect_refusal("run " + directory_.string(), "holds no scenario");
    expect_refusal("list --catalog /nonexistent/catalog", "not a directory that can be read");
    expect_refusal("judge /nonexistent/run", "/nonexistent/run");
    expect_refusal("replay /nonexistent/plan.toml", "/nonexistent/plan.toml");
}

TEST_F(Cli, DoesNotKnowWhenARankLiesOutsideTheCluster) {
    const Answer answer = deadrank("run " + altered("rank = \"any\"", "rank = 99") + " --seed 1");
    EXPECT_THAT(answer.code, testing::AnyOf(2, 64)) << answer.out;
    EXPECT_THAT(answer.out, HasSubstr("99"));
}

TEST_F(Cli, DoesNotKnowWhenTheFaultNeverHappens) {
    const std::string file = altered("when = { step = \"3..15\", before = \"all_reduce\" }",
                                     "when = { step = 3, before = \"all_to_all\" }");
    const Answer answer = deadrank("run " + file + " --seed 1");
    EXPECT_EQ(answer.code, 2) << answer.out;
    EXPECT_THAT(answer.out, HasSubstr("the fault never happened"));
}

TEST_F(Cli, FailsWhenTheExpectationNamesAnotherRankAndSaysWhoWasBlamed) {
    const std::string file =
        altered("blames = [\"rank\", \"step\"]", "blames = [\"rank\", \"step\"]\nranks = [6]");
    // A seed whose draw is rank 6 would make this true; of three seeds two at least are not.
    const Answer answer = deadrank("run " + file + " --seeds 1..3");
    EXPECT_EQ(answer.code, 1) << answer.out;
    EXPECT_THAT(answer.out, HasSubstr("it was rank 6"));
}

TEST_F(Cli, PlaysAndReplaysAScenarioAsScriptsExpect) {
    const Answer answer = deadrank(
        "run communication/rank_leaves_all_reduce --json --out " + directory_.string(), "2>/dev/null");
    ASSERT_EQ(answer.code, 0) << answer.out;
    const auto line = nlohmann::json::parse(answer.out);
    EXPECT_EQ(line["verdict"], "pass");
    EXPECT_EQ(line["control"], "pass");
    EXPECT_EQ(line["healed"], "pass");
    const Answer again = deadrank("replay " + line["token"].get<std::string>() + " --json");
    EXPECT_EQ(again.code, 0) << again.out;
    EXPECT_EQ(nlohmann::json::parse(again.out)["trace_hash"], line["trace_hash"]);
    const std::string place = (directory_ / "communication/rank_leaves_all_reduce/1").string();
    EXPECT_EQ(deadrank("judge " + place).code, 0);
    EXPECT_EQ(deadrank("judge " + place + "/evidence.jsonl").code, 2)
        << "evidence alone has no truth to be judged against";
    EXPECT_EQ(deadrank("replay " + place + "/plan.toml").code, 0);
}

// Goal: what a report says to see it again does so, also for a file that lies in no catalog.
TEST_F(Cli, ReplaysTheTokenOfAFileOutsideOfTheCatalog) {
    const std::string file = altered("steps = 20", "steps = 22");
    deadrank("run " + file + " -q --out " + directory_.string());
    std::ifstream in(directory_ / directory_.filename() / "altered/1/verdict.json");
    const auto verdict = nlohmann::json::parse(in, nullptr, false);
    ASSERT_TRUE(verdict.is_object());
    const std::string token = verdict["token"], page = (directory_ / "run.html").string();
    EXPECT_EQ(verdict["see_it_again"][0], "deadrank replay " + token + " --scenario " + file);
    expect_refusal("replay " + token, "name its file with --scenario FILE");
    const Answer again = deadrank("replay " + token + " --scenario " + file + " --html " + page);
    EXPECT_EQ(again.code, 0) << again.out;
    EXPECT_THAT(again.out, HasSubstr("reproduced"));
    EXPECT_GT(fs::file_size(page), 10'000u);
}

TEST_F(Cli, NamesTheFirstEventThatDiffers) {
    ASSERT_EQ(deadrank("run communication/rank_leaves_all_reduce -q --out " + directory_.string()).code, 0);
    const std::string place = (directory_ / "communication/rank_leaves_all_reduce/1").string();
    ASSERT_EQ(
        deadrank("run communication/rank_leaves_all_reduce -q --seed 2 --out " + directory_.string()).code,
        0);
    const std::string other = (directory_ / "communication/rank_leaves_all_reduce/2").string();
    const Answer answer = deadrank("replay " + place + "/plan.toml --against " + other);
    EXPECT_EQ(answer.code, 1) << answer.out;
    EXPECT_THAT(answer.out, HasSubstr("first"));
}

TEST_F(Cli, SaysAnUnreadablePlaceForItsFilesWithoutLosingTheVerdict) {
    const std::string file = write("file", "not a directory");
    const Answer answer = deadrank("run communication/rank_leaves_all_reduce --out " + file);
    EXPECT_THAT(answer.out, HasSubstr("1 pass"));
    EXPECT_NE(answer.code, 0) << "what was asked to be kept was not kept";
}

TEST_F(Cli, StopsGentlyOnInterruptAndKeepsWhatItHas) {
    const std::string program = std::string(DEADRANK_BINARY_DIRECTORY) + "/deadrank";
    const std::string command = "DEADRANK_CATALOG='" DEADRANK_SOURCE_DIRECTORY
                                "/scenarios/catalog' timeout -s INT --preserve-status 1 " +
                                program + " run rank_leaves_all_reduce --seeds 1..200000 --json --out " +
                                directory_.string() + " >" + (directory_ / "lines").string() + " 2>&1";
    const int status = std::system(command.c_str());
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 130);
    EXPECT_TRUE(fs::exists(directory_ / "communication/rank_leaves_all_reduce/1/verdict.json"));
    EXPECT_TRUE(fs::exists(directory_ / "scorecard_by_class.json"));
}

TEST_F(Cli, WritesJunitForCi) {
    const std::string file = (directory_ / "junit.xml").string();
    EXPECT_EQ(deadrank("run rank_leaves_all_reduce -q --junit " + file).code, 0);
    std::ifstream in(file);
    const std::string text((std::istreambuf_iterator<char>(in)), {});
    EXPECT_THAT(
        text, HasSubstr("<testcase classname=\"sim.communication\" name=\"rank_leaves_all_reduce seed 1\""));
}

TEST_F(Cli, PrintsListingsAsJson) {
    for (const std::string command :
         {"list", "list taxonomy", "list coverage", "help version", "explain kill_rank",
          "replay plan communication/rank_leaves_all_reduce"}) {
        const Answer answer = deadrank(command + " --json", "2>/dev/null");
        EXPECT_TRUE(nlohmann::json::accept(answer.out)) << command << "\n" << answer.out.substr(0, 400);
    }
}

TEST_F(Cli, HasHelpForEachCommandAndCompletionsThatParse) {
    const auto expect_help = [](const std::string& path, const std::string& help) {
        const Answer answer = deadrank(help);
        EXPECT_EQ(answer.code, 0) << path;
        EXPECT_THAT(answer.out, HasSubstr("Usage: deadrank " + path)) << path;
        EXPECT_THAT(answer.out, testing::ContainsRegex("Examples?:\n  [a-z]")) << path;
        return answer.out;
    };
    for (const runners::Command& command : runners::all_commands()) {
        const std::string name(command.row->name);
        const std::string help = expect_help(name, name + " --help");
        for (const auto* verb : command.verbs) {
            EXPECT_THAT(help, HasSubstr("  " + std::string(verb->name) + " ")) << name;
            const std::string path = name + " " + std::string(verb->name);
            expect_help(path, "help " + path);
        }
    }
    EXPECT_EQ(
        std::system(
            (std::string(DEADRANK_BINARY_DIRECTORY) + "/deadrank help completion bash | bash -n").c_str()),
        0);
}

TEST_F(Cli, CompletesCommandsVerbsAndOptions) {
    // What bash offers behind the words, of which the last one is under way.
    const auto completed = [&](const std::string& words) {
        const std::string script =
            write("complete.bash", "source <(" DEADRANK_BINARY_DIRECTORY
                                   "/deadrank help completion bash)\nCOMP_WORDS=(deadrank " +
                                       words +
                                       ")\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_deadrank\necho \" "
                                       "${COMPREPLY[*]} \"\n");
        return shell("bash '" + script + "'").out;
    };
    EXPECT_THAT(completed("''"), testing::AllOf(HasSubstr(" sweep "), Not(HasSubstr(" swarm "))));
    EXPECT_THAT(completed("report ''"), testing::AllOf(HasSubstr(" parity "), HasSubstr(" promises ")));
    EXPECT_THAT(completed("score ras ''"), HasSubstr(" ask "));
    EXPECT_EQ(completed("sweep shrink --k"), " --keep \n");
    EXPECT_EQ(completed("sweep shrink a.toml --k"), " --keep \n");
}

TEST_F(Cli, HasFewerThanTwentyCommandsOnOneScreen) {
    EXPECT_LT(runners::all_commands().size() - 1, 20u);  // help is one of them
    std::istringstream help(deadrank("--help").out);
    int lines = 0;
    for (std::string line; std::getline(help, line); ++lines)
        EXPECT_LE(results::reports::columns_of(line), 80u) << line;
    EXPECT_LE(lines, 40);
}

// Scripts with old names work as before: the notice is on standard error.
TEST_F(Cli, AnswersToOldNamesAndNamesTheNewForm) {
    ASSERT_GE(runners::old_names().size(), 20u);
    for (const runners::OldName& name : runners::old_names()) {
        const std::string old(name.old), now(name.now);
        EXPECT_EQ(deadrank(old + " --help", "2>/dev/null").out, deadrank(now + " --help").out) << old;
        const Answer notice = deadrank(old + " --help", "2>&1 >/dev/null");
        EXPECT_EQ(notice.out,
                  "deadrank: '" + old + "' is now '" + now + "'; the next release drops the old name\n");
        if (now.starts_with("help ")) continue;  // these answer to `help NAME` for good
        EXPECT_EQ(deadrank("help " + old, "2>/dev/null").out, deadrank(now + " --help").out) << old;
    }
    const Answer plan = deadrank("plan communication/rank_leaves_all_reduce", "2>/dev/null");
    EXPECT_EQ(plan.code, 0);
    EXPECT_EQ(plan.out, deadrank("replay plan communication/rank_leaves_all_reduce").out);
}

TEST_F(Cli, NamesTheWordThatIsWrong) {
    expect_refusal("sweep shrink --runner local f.toml", "'--runner' is not understood here");
    expect_refusal("sweep shrink --tires 3 f.toml", "did you mean '--tries'?");
    expect_refusal("watch torchrun x.py",
                   "'torchrun' begins the command of a program — put -- before the command: deadrank watch "
                   "-- torchrun x.py");
    expect_refusal("sweep --rank 0 python train.py", "deadrank sweep --rank 0 -- python train.py");
    expect_refusal("watch ./x.sh",
                   "put -- before the command of a program: deadrank watch -- torchrun train.py");
    expect_refusal("sweep --seed 3 shrink",
                   "'shrink' is a verb of sweep — write it first: deadrank sweep shrink");
    expect_refusal("run --seeds ''", "--seeds has an empty value");
    expect_refusal("sweep --rank= communication/rank_leaves_all_reduce", "--rank has an empty value");
    expect_refusal("report pariyt", "did you mean 'parity'?");
    expect_refusal("report", "report has no verb");
    expect_refusal("shrnk", "did you mean 'sweep shrink'?");
    expect_refusal("explain kill_rank run", "'run' is not understood here");
}

TEST_F(Cli, GroupsItsCommandsAndHelpsWithOneByEitherWord) {
    const Answer all = deadrank("--help");
    std::size_t at = 0;
    for (const std::string title : {"For all", "For framework developers", "For operators", "For teachers"}) {
        const std::size_t next = all.out.find(title, at);
        ASSERT_NE(next, std::string::npos) << title << " is missing, or out of order:\n" << all.out;
        at = next;
    }
    EXPECT_EQ(deadrank("help").out, all.out);
    EXPECT_EQ(deadrank("help sweep").out, deadrank("sweep --help").out);
    const Answer wrong = deadrank("help swep");
    EXPECT_EQ(wrong.code, 64);
    EXPECT_THAT(wrong.out, HasSubstr("did you mean 'sweep'?"));
}

TEST_F(Cli, SaysOpenlyThatTheTaxonomyIsReconstructed) {
    EXPECT_THAT(deadrank("list taxonomy").out, HasSubstr("reconstructed by this project"));
    EXPECT_THAT(deadrank("list taxonomy --matrix").out, HasSubstr("reconstructed by this project"));
}

TEST_F(Cli, SaysOnPaperWhatARealJobCanPlay) {
    const Answer answer = deadrank(
        "report parity --plan --json communication/rank_leaves_all_reduce "
        "communication/draft_skipped_near_length_limit",
        "2>/dev/null");
    ASSERT_EQ(answer.code, 0) << answer.out;
    std::istringstream lines(answer.out);
    std::map<std::string, std::string> why;
    for (std::string line; std::getline(lines, line);) {
        const auto json = nlohmann::json::parse(line);
        why[json["scenario"]] = json["why"];
    }
    ASSERT_EQ(why.size(), 2u) << answer.out;
    EXPECT_EQ(why["communication/rank_leaves_all_reduce"], "");
    EXPECT_THAT(why["communication/draft_skipped_near_length_limit"], HasSubstr("no workload 'serving'"));
}

// Output that nobody got is no success, whichever command it was, and no mistake of ours either.
TEST_F(Cli, LostOutputIsAnError) {
    const std::string run = "run communication/rank_leaves_all_reduce";
    ASSERT_EQ(deadrank(run + " -q --out '" + directory_.string() + "'").code, 0);
    const std::string kept = "'" + (directory_ / "communication/rank_leaves_all_reduce/1").string() + "'";
    const std::vector<std::string> all = {"list",
                                          "help manual",
                                          "new schema",
                                          "list taxonomy",
                                          "help version",
                                          "--help",
                                          "explain collective_deadlock_hang",
                                          "list coverage",
                                          "help completion bash",
                                          "score emit --list",
                                          "replay plan communication/rank_leaves_all_reduce",
                                          run,
                                          run + " --json",
                                          "judge " + kept,
                                          "judge --json " + kept,
                                          "diagnose " + kept,
                                          "replay " + kept + "/plan.toml"};
    for (const std::string& arguments : all) {
        const Answer answer = deadrank(arguments, "2>&1 >/dev/full");
        EXPECT_EQ(answer.code, arguments.starts_with("diagnose") ? 1 : 64)  // it found something: that stays
            << "deadrank " << arguments << "\n"
            << answer.out;
        EXPECT_THAT(answer.out, HasSubstr("standard output could not be written: No space left on device"))
            << "deadrank " << arguments;
    }
}

TEST_F(Cli, AReaderThatHasEnoughIsNoError) {
    const Answer answer = deadrank("list", "2>&1 | head -1");
    EXPECT_EQ(answer.code, 0);
    EXPECT_THAT(answer.out, Not(HasSubstr("could not be written")));
}

// The name of a scenario may be anything that a file system takes.
TEST_F(Cli, NoNameSteersTheTerminal) {
    const std::string file = altered("launcher = \"bare\"", "launcher = \"b\\u001b]0;x\\u0007are\"");
    const Answer answer = deadrank("run '" + file + "'");
    EXPECT_EQ(answer.code, 64);
    EXPECT_EQ(answer.out.find('\033'), std::string::npos) << answer.out;
    EXPECT_EQ(answer.out.find('\007'), std::string::npos) << answer.out;
}

}  // namespace
}  // namespace deadrank::tests
