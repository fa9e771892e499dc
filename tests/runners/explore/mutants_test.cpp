// tests/runners/explore/mutants_test.cpp — deadrank test --mutate: a call of the program under test is bent, and its
// tests notice; what changes nothing, what no test reaches and what nobody notices are told apart.
#include <filesystem>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "runners/backends/process/mpirun.h"
#include "runners/explore/mutants.h"
#include "runners/manual/output_words.h"
#include "tests/support/shell.h"

namespace deadrank::tests {
namespace {

using namespace runners::explore;
using nlohmann::json;
using testing::HasSubstr;
namespace fs = std::filesystem;

// ── Without a run.

Mutant mutant_of(std::vector<MutantRun> runs) { return {{"train.py", 3, "all_reduce"}, "mean_for_sum", {"a"}, std::move(runs)}; }

TEST(Mutants, AreKilledByAFailureAndElseByAHang) {
    const MutantRun fails{.test = "a", .executed = true, .changed = true, .fails = true, .trouble = {}};
    MutantRun hangs = fails;
    hangs.hangs = true;
    hangs.test = "b";
    EXPECT_EQ(mutant_of({fails, hangs}).outcome(), MutantOutcome::killed);
    EXPECT_EQ(mutant_of({hangs}).outcome(), MutantOutcome::timed_out);
    EXPECT_THAT(mutant_of({fails, hangs}).killers(), testing::ElementsAre("a", "b"));
}

TEST(Mutants, CountOnlyIfAValueChanged) {
    const MutantRun changed{.test = "a", .executed = true, .changed = true, .trouble = {}};
    MutantRun equal = changed, absent = changed, odd = changed;
    equal.changed = false;
    absent.executed = absent.changed = false;
    odd.changed = false;
    odd.fails = true;
    EXPECT_EQ(mutant_of({equal, changed}).outcome(), MutantOutcome::survived);
    EXPECT_EQ(mutant_of({equal, absent}).outcome(), MutantOutcome::equivalent);
    EXPECT_EQ(mutant_of({absent}).outcome(), MutantOutcome::not_reached);
    EXPECT_EQ(mutant_of({odd}).outcome(), MutantOutcome::invalid);
    EXPECT_EQ(mutant_of({}).outcome(), MutantOutcome::invalid);
    EXPECT_FALSE(counts(MutantOutcome::equivalent));
    EXPECT_TRUE(counts(MutantOutcome::timed_out));
}

RecordedTests two_tests() {
    RecordedTests tests;
    tests["a"].passed = true;
    tests["a"].reached[{"/p/train.py", 3, "all_reduce"}] = {"mean_for_sum", "reduction_left_out"};
    tests["a"].reached[{"/p/test_train.py", 9, "all_gather"}] = {"shards_swapped"};
    tests["a"].test_files = {"/p/test_train.py"};
    tests["b"] = tests["a"];
    tests["c"].reached[{"/p/train.py", 7, "broadcast"}] = {"broadcast_left_out"};  // it fails anyway
    return tests;
}

TEST(Mutants, AreOfCallsOfTheProgramInTestsThatPass) {
    const auto mutants = mutants_of(two_tests(), {});
    ASSERT_EQ(mutants.size(), 2u);
    EXPECT_EQ(mutants[0].mutation, "mean_for_sum");
    EXPECT_THAT(mutants[0].tests, testing::ElementsAre("a", "b"));
    EXPECT_EQ(mutants_of(two_tests(), {.in_tests = true}).size(), 3u);
    EXPECT_EQ(mutants_of(two_tests(), {.mutations = {"mean_for_sum"}}).size(), 1u);
    EXPECT_EQ(mutants_of(two_tests(), {.sites = "all_gather", .in_tests = true}).size(), 1u);
    EXPECT_EQ(mutants_of(two_tests(), {.sites = "train.py:3"}).size(), 2u);
    EXPECT_EQ(mutants_of(two_tests(), {.sites = "train.py:4"}).size(), 0u);
}

TEST(Mutants, AreDrawnBySeedAndALargerLimitKeepsThem) {
    RecordedTests tests;
    tests["a"].passed = true;
    for (int line = 1; line <= 40; ++line) tests["a"].reached[{"train.py", line, "all_reduce"}] = {"mean_for_sum"};
    const auto lines = [&](std::size_t limit, std::uint64_t seed) {
        std::set<std::int64_t> drawn;
        for (const Mutant& one : mutants_of(tests, {.limit = limit, .seed = seed})) drawn.insert(one.site.line);
        return drawn;
    };
    const auto five = lines(5, 1), ten = lines(10, 1);
    EXPECT_EQ(five.size(), 5u);
    EXPECT_EQ(five, lines(5, 1));
    EXPECT_NE(five, lines(5, 2));
    EXPECT_TRUE(std::includes(ten.begin(), ten.end(), five.begin(), five.end()));
}

// ── A suite of unmodified tests.

class DeviceMutatedSuite : public testing::Test {
protected:
    void SetUp() override {
        const auto python = runners::best_python();
        if (!python) GTEST_SKIP() << python.error().text();
        python_ = python->program.string();
        if (shell("'" + python_ + "' -c 'import expecttest'").code != 0)
            GTEST_SKIP() << "torch's test classes need the package expecttest: pip install expecttest";
    }

    Answer test(const std::string& options, const std::string& arguments, const std::string& project = "mutated_project") const {
        return shell("cd '" + (fs::path(DEADRANK_SOURCE_DIRECTORY) / "tests/suites" / project).string() +
                     "' && env -u CI PYTHONDONTWRITEBYTECODE=1 '" DEADRANK_BINARY_DIRECTORY "/deadrank' test " + options +
                     " -- '" + python_ + "' " + arguments);
    }

    std::string python_;
};

using Places = std::set<std::pair<std::string, std::string>>;  // mutation, line's call

Places with_outcome(const json& report, std::string_view outcome) {
    Places places;
    for (const json& one : report["mutants"])
        if (one["outcome"] == outcome)
            places.insert({one["mutation"].is_null() ? "" : one["mutation"].get<std::string>(), one["place"].get<std::string>()});
    return places;
}

// The line of the program that has these words, or one below it.
std::string place_of(const std::string& words, int below = 0) {
    const std::string file = DEADRANK_SOURCE_DIRECTORY "/tests/suites/mutated_project/trainer.py";
    const Answer found = shell("grep -n '" + words + "' '" + file + "' | cut -d: -f1");
    return fmt::format("trainer.py:{}", std::stoi(found.out) + below);
}

TEST_F(DeviceMutatedSuite, NoticesEachMutationWhereATestLooksAndNoOther) {
    const Answer all = test("--mutate --json", "test_trainer.py 2>/dev/null");
    EXPECT_EQ(all.code, 1) << all.out;
    const json report = json::parse(all.out, nullptr, false);
    ASSERT_FALSE(report.is_discarded()) << all.out;
    EXPECT_EQ(report["counts"]["invalid"], 0) << all.out;
    std::set<std::string> noticed;
    for (const auto& [mutation, place] : with_outcome(report, "killed")) noticed.insert(mutation);
    const std::set<std::string> late = {"late_contribution"};  // no test looks at what only it changes
    for (const auto& word : runners::manual::output_words()) {
        if (!word.where.starts_with("mutation of") || late.contains(std::string(word.word))) continue;
        EXPECT_TRUE(noticed.contains(std::string(word.word))) << word.word;
    }
    Places survived = with_outcome(report, "survived");
    const std::string loop = place_of("for value in values", 1);
    for (const char* mutation : {"mean_for_sum", "reduction_left_out", "contribution_left_out", "wrong_group", "late_contribution"})
        EXPECT_EQ(survived.erase({mutation, loop}), 1u) << mutation;
    EXPECT_EQ(survived.erase({"seed_differs", place_of("manual_seed(100")}), 1u);
    EXPECT_EQ(survived.erase({"seed_differs", place_of("manual_seed(7")}), 1u);
    EXPECT_TRUE(survived.empty()) << testing::PrintToString(survived);
    EXPECT_TRUE(with_outcome(report, "equivalent").contains({"mean_for_sum", place_of("def zeros", 2)})) << all.out;
    EXPECT_TRUE(with_outcome(report, "timed_out").contains({"mean_for_sum", place_of("def wait_for_all", 3)})) << all.out;
    EXPECT_EQ(with_outcome(report, "not_reached"), (Places{{"", place_of("def never_tested", 1)}}));
}

TEST_F(DeviceMutatedSuite, GivesTheSameAnswerTwice) {
    const std::string options = "--mutate=reductions --limit 4 --json", tests = "test_trainer.py TestTrainer.test_total TestTrainer.test_share 2>/dev/null";
    const Answer one = test(options, tests), other = test(options, tests);
    EXPECT_EQ(one.code, 0) << one.out;
    EXPECT_THAT(one.out, HasSubstr("\"killed\": 4"));
    EXPECT_EQ(one.out, other.out);
}

TEST_F(DeviceMutatedSuite, PlaysFunctionsOfSpawn) {
    const Answer all = test("--mutate -v", "test_spawned.py 2>&1");
    EXPECT_EQ(all.code, 0) << all.out;
    EXPECT_THAT(all.out, HasSubstr("Ran 4 tests"));
    EXPECT_THAT(all.out, HasSubstr("deadrank: 1 test ran on ranks that are not simulated: what mp.spawn is given cannot be copied"));
    EXPECT_THAT(all.out, HasSubstr("killed mean_for_sum of all_reduce at trainer.py:"));
    EXPECT_THAT(all.out, HasSubstr("by TestSpawned.test_total"));
}

TEST_F(DeviceMutatedSuite, LetsThreadsBeRanksUnharmedAndSaysSo) {
    const Answer all = test("", "test_threads.py 2>&1", "torch_project");
    EXPECT_THAT(all.out, HasSubstr("FAILED (errors=1)"));
    EXPECT_THAT(all.out, HasSubstr("deadrank: 2 tests ran on ranks that are not simulated: MultiThreadedTestCase"));
    EXPECT_EQ(all.code, 1) << all.out;
}

TEST_F(DeviceMutatedSuite, RefusesWordsThatItDoesNotKnow) {
    const Answer wrong = test("--mutate=mean_for_sums", "test_spawned.py 2>&1");
    EXPECT_EQ(wrong.code, 64);
    EXPECT_THAT(wrong.out, HasSubstr("--mutate has no mutation 'mean_for_sums' — did you mean 'mean_for_sum'?"));
    const Answer both = test("--mutate --faults kill", "test_spawned.py 2>&1");
    EXPECT_EQ(both.code, 64);
    const Answer none = test("--mutate --sites no_such_file.py", "test_spawned.py TestSpawned.test_total 2>&1");
    EXPECT_EQ(none.code, 2) << none.out;
    EXPECT_THAT(none.out, HasSubstr("no test that passes makes a call that --mutate could bend"));
}

}  // namespace
}  // namespace deadrank::tests
