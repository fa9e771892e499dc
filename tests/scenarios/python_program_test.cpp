// tests/scenarios/python_program_test.cpp — Scenarios whose workload is a program of Python: the text or
// file, the patch, and what is said of either when it is wrong.
#include "scenarios/model/python_program.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

#include "runners/extension/extension.h"
#include "scenarios/format/plan_file.h"
#include "scenarios/format/scenario_file.h"
#include "tests/scenarios/sample.h"

namespace deadrank::tests {
namespace {

namespace fs = std::filesystem;
using scenarios::apply_patch;

constexpr const char* five_lines = "a\nb\n\nb\nc\n";

// Goal: a patch does what `git apply` does, and needs no counting of lines.
TEST(ProgramPatch, IsFoundByItsLinesOrByItsNumbers) {
    EXPECT_EQ(apply_patch(five_lines, "@@\n a\n-b\n+x\n").value(), "a\nx\n\nb\nc\n");
    EXPECT_EQ(apply_patch(five_lines, "@@ -4 +4 @@\n-b\n+x\n").value(), "a\nb\n\nx\nc\n");
    EXPECT_EQ(apply_patch(five_lines, "--- a\n+++ b\n@@\n-a\n@@\n+x\n c\n").value(), "b\n\nb\nx\nc\n");
    EXPECT_EQ(apply_patch(five_lines, "@@\n b\n\n-b\n c\n").value(), "a\nb\n\nc\n") << "an empty line stays";
    EXPECT_EQ(apply_patch("a", "@@\n-a\n+b\n\\ No newline at end of file\n").value(), "b\n");
}

TEST(ProgramPatch, ThatCannotBeAppliedNamesItsLine) {
    const auto refused = [](const char* patch) {
        const auto made = apply_patch(five_lines, patch);
        return made ? std::string("applies") : std::to_string(made.error().line) + ": " + made.error().what;
    };
    EXPECT_EQ(refused("-a\n+b\n"), "1: the patch has a line before its first hunk");
    EXPECT_EQ(refused(""), "1: the patch has no hunk");
    EXPECT_EQ(refused("@@\n a\n-b\n@@\n-z\n"),
              "4: the patch does not apply: the program has no such lines ('z' first)");
    EXPECT_EQ(refused("@@\n-b\n+x\n"), "1: the patch's hunk fits in 2 places of the program");
    EXPECT_EQ(refused("@@\n a\n b\n"), "1: the patch's hunk changes nothing");
    EXPECT_EQ(refused("@@\n+x\n"), "1: the patch's hunk names no line of the program");
    EXPECT_EQ(refused("@@\n-c\n@@\n-a\n"),
              "3: the patch does not apply: the program has no such lines ('a' first)");
    EXPECT_EQ(refused("@@\nab\n"), "2: the patch's line 'ab' is no line of a patch");
}

// Goal: a framework's own fix, turned round, is a patch as it is.
TEST(ProgramPatch, OfSeveralFilesIsSplitAtItsHeads) {
    const std::string_view patch =
        "diff --git a/src/pack/one.py b/src/pack/one.py\n"
        "index 12..34 100644\n"
        "--- a/src/pack/one.py\n"
        "+++ b/src/pack/one.py\n"
        "@@ -1 +1 @@\n"
        "--- not a head\n"
        "+x\n"
        "--- a/pack/deep/two.py\t2026-01-01\n"
        "+++ b/pack/deep/two.py\t2026-01-02\n"
        "@@\n"
        "-b\n"
        "--- train.py\n"
        "+++ train.py\n"
        "@@\n"
        "-c\n";
    const auto parts = scenarios::split_patch(patch);
    ASSERT_TRUE(parts) << parts.error().what;
    ASSERT_EQ(parts->size(), 3u);
    EXPECT_EQ((*parts)[0].file, "pack/one.py");
    EXPECT_EQ(apply_patch("-- not a head\ny\n", (*parts)[0].text).value(), "x\ny\n");
    EXPECT_EQ((*parts)[1].file, "pack/deep/two.py");
    EXPECT_EQ((*parts)[1].first, 8);
    EXPECT_EQ(apply_patch("a\nb\n", (*parts)[1].text).value(), "a\n");
    EXPECT_EQ((*parts)[2].file, "") << "no directory: the program";
    EXPECT_EQ((*scenarios::split_patch("@@\n-a\n"))[0].file, "");

    const auto short_heads =
        scenarios::split_patch("+++ b/pack/a.py\n@@\n-a\n+++ b/pack/b.py\n@@\n-b\n++ c\n");
    ASSERT_TRUE(short_heads) << short_heads.error().what;
    ASSERT_EQ(short_heads->size(), 2u);
    EXPECT_EQ((*short_heads)[0].file, "pack/a.py");
    EXPECT_EQ((*short_heads)[1].file, "pack/b.py");
    EXPECT_EQ(apply_patch("b\n", (*short_heads)[1].text).value(), "+ c\n");
}

TEST(ProgramPatch, OfFilesThatAreNoneNamesItsLine) {
    const auto refused = [](const std::string& patch) {
        const auto parts = scenarios::split_patch(patch);
        return parts ? std::string("splits") : std::to_string(parts.error().line) + ": " + parts.error().what;
    };
    EXPECT_EQ(refused("--- a/x/a.py\n+++ b/x/a.py\n@@\n-a\n--- a/x/a.py\n+++ b/x/a.py\n@@\n-b\n"),
              "1: the patch changes x/a.py twice");
    EXPECT_EQ(refused("--- a/x/a.c\n+++ b/x/a.c\n@@\n-a\n"),
              "1: the patch changes 'x/a.c', which is no file of a Python package");
    EXPECT_EQ(refused("--- a/x/../a.py\n+++ b/x/../a.py\n@@\n-a\n"),
              "1: the patch changes 'x/../a.py', which is no file of a Python package");
    EXPECT_EQ(refused("--- /x/a.py\n+++ /x/a.py\n@@\n-a\n"),
              "1: the patch changes '/x/a.py', which is no file of a Python package");
    EXPECT_EQ(refused("@@\n-a\n--- a/x/a.py\n+++ b/x/a.py\n"), "3: the patch has no hunk");
    EXPECT_EQ(refused("@@\n-a\n--- a/x/a.py\n+++ b/x/a.py\n@@\n?\n"),
              "6: the patch's line '?' is no line of a patch");
}

class PythonFile : public testing::Test {
protected:
    void SetUp() override {
        fs::remove_all(place_);
        fs::create_directories(place_ / "catalog" / "communication");
        std::ofstream(place_ / "catalog" / "communication" / "train.py")
            << "from deadrank import seam\nx = seam('n', 1)\n";
    }
    void TearDown() override { fs::remove_all(place_); }

    scenarios::Result<scenarios::Scenario> load(const std::string& bug, const std::string& workload,
                                                const std::string& more = "") {
        const std::string text =
            "format = 1\n[bug]\nstage = \"communication\"\nsymptom = \"collective_deadlock_hang\"\n"
            "cause = \"rank_divergent_control_flow\"\nfix = \"framework_logic_correction\"\n" +
            bug + "[workload]\nkind = \"python\"\n" + workload + more +
            "[expect]\nsymptom = \"collective_deadlock_hang\"\nblames = []\n";
        return scenarios::parse_scenario(text, place_ / "catalog" / "communication" / "one.toml",
                                         sample_taxonomy(), words_);
    }

    std::string refusal(const std::string& bug, const std::string& workload, const std::string& more = "") {
        const auto loaded = load(bug, workload, more);
        return loaded ? "loads" : loaded.error().text();
    }

    fs::path place_ = fs::path(testing::TempDir()) / ("deadrank_python_" + std::to_string(getpid()));
    scenarios::Vocabulary words_ = runners::vocabulary();
};

const std::string patch = "patch = '''\n@@\n-x = seam('n', 1)\n+x = 2\n'''\n";
const std::string program = "program = \"train.py\"\n";

// Goal: a bug that the installed release still has is played against its fix.
TEST_F(PythonFile, MayHaveAFixWhoseAbsenceIsTheBug) {
    const std::string fix = "fix = '''\n--- a/x/a.py\n+++ b/x/a.py\n@@\n a\n-b\n+c\n'''\n";
    const auto scenario = load("", program + fix);
    ASSERT_TRUE(scenario) << scenario.error().text();
    const scenarios::Capabilities all{.levers = {"*"}, .workloads = {"*"}};
    const auto trial = scenarios::resolve(*scenario, {1}, all, words_);
    ASSERT_TRUE(trial) << trial.error().text();
    const std::string mends = trial->control.workload.at("fix").text;
    EXPECT_EQ(apply_patch("a\nb\n", mends).value(), "a\nc\n");
    ASSERT_EQ(trial->fault.faults.size(), 1u);
    EXPECT_EQ(apply_patch("a\nc\n", trial->fault.faults[0].text("patch")).value(), "a\nb\n");
    EXPECT_TRUE(trial->control.faults.empty());
    EXPECT_NE(refusal("", program + "fix = '''\n@@\n-a\n'''\n").find("the fix changes no installed package"),
              std::string::npos);
}

// Goal: the plan carries all that a replay needs; the control and the healed run are the fixed program.
TEST_F(PythonFile, BecomesAPlanWithItsTextAndAFaultThatIsThePatch) {
    const auto scenario = load(patch, program);
    ASSERT_TRUE(scenario) << scenario.error().text();
    const scenarios::Capabilities all{.levers = {"*"}, .workloads = {"*"}};
    const auto trial = scenarios::resolve(*scenario, {1}, all, words_);
    ASSERT_TRUE(trial) << trial.error().text();
    EXPECT_EQ(trial->fault.workload.at("program").text, "from deadrank import seam\nx = seam('n', 1)\n");
    ASSERT_EQ(trial->fault.faults.size(), 1u);
    EXPECT_EQ(trial->fault.faults[0].kind, scenarios::patch_fault);
    EXPECT_TRUE(trial->control.faults.empty());
    EXPECT_TRUE(trial->healed.faults.empty());
    const auto back =
        scenarios::parse_plan(scenarios::to_toml(trial->fault), "plan.toml", sample_taxonomy(), words_);
    ASSERT_TRUE(back) << back.error().text();
    EXPECT_EQ(*back, trial->fault);
    const std::string digest = scenario->digest;
    std::ofstream(place_ / "catalog" / "communication" / "train.py", std::ios::app) << "y = 1\n";
    EXPECT_NE(load(patch, program)->digest, digest) << "the program is part of the scenario";
}

TEST_F(PythonFile, KeepsFaultsThatProvokeInTheHealedRun) {
    const auto scenario =
        load(patch, program, "[[fault]]\nkind = \"kill_rank\"\nrank = 0\nprovokes = true\n");
    ASSERT_TRUE(scenario) << scenario.error().text();
    ASSERT_EQ(scenario->heal.faults.size(), 2u);
    EXPECT_TRUE(scenario->heal.faults[0].kept);
    EXPECT_FALSE(scenario->heal.faults[1].kept) << "the patch";
}

TEST_F(PythonFile, NamesFileLineAndKeyOfWhatIsWrong) {
    const auto says = [](const std::string& text, const std::string& part) {
        EXPECT_NE(text.find(part), std::string::npos) << text;
    };
    says(refusal(patch, "program = \"gone.py\"\n"),
         "one.toml:14:11: there is no file 'gone.py' beside the scenario");
    says(refusal(patch, ""), "python lacks 'program'");
    says(refusal("patch = '''\n@@\n-nothing\n'''\n", program), "one.toml:8:1: the patch does not apply");
    const std::string package = "patch = '''\n--- a/x/a.py\n+++ b/x/a.py\n@@\n-a\n";
    EXPECT_EQ(refusal(package + "'''\n", program), "loads");
    says(refusal(package + "--- train.py\n+++ train.py\n@@\n-no\n'''\n", program),
         "the patch does not apply");
    says(refusal("patch = '''\n--- a/x/a.c\n+++ b/x/a.c\n@@\n-a\n'''\n", program),
         "the patch changes 'x/a.c'");
    says(refusal("", program), "there is no [[fault]]");
    says(refusal("", program, "[[fault]]\nkind = \"bend_value\"\nrank = 0\nseam = \"m\"\nset = 1\n"),
         "there is no seam in python 'm'");
    EXPECT_EQ(refusal("", program, "[[fault]]\nkind = \"bend_value\"\nrank = 0\nseam = \"n\"\nset = 1\n"),
              "loads");
}

}  // namespace
}  // namespace deadrank::tests
