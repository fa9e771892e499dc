// Goal: the installed deadrank serves somebody else's project: her workload and detector in our program, her
// scenarios as CTest, GoogleTest and pytest tests; a bug that is not noticed fails there, and says why.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "runners/backends/process/mpirun.h"
#include "runners/suites/suite.h"
#include "tests/support/shell.h"

namespace deadrank::tests {
namespace {

using runners::suites::Suite;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
namespace fs = std::filesystem;

const fs::path source = DEADRANK_SOURCE_DIRECTORY;
const fs::path data = source / "scenarios";
const fs::path pytest_project = source / "tests/suites/pytest_project";

TEST(Suite, PlaysAScenarioAndTellsTheStoryOfOneThatFails) {
    const auto suite = Suite::open({.scenarios = pytest_project / "scenarios", .data = data});
    ASSERT_TRUE(suite) << suite.error().text();
    ASSERT_EQ(suite->scenarios().size(), 2u);
    EXPECT_EQ(suite->play(suite->scenarios()[0], 2).verdict, results::Verdict::pass);
    const auto wrong = suite->play(suite->scenarios()[1], 2);
    EXPECT_EQ(wrong.verdict, results::Verdict::fail);
    EXPECT_THAT(runners::suites::story_of(wrong),
                AllOf(HasSubstr("it was rank 3"), HasSubstr("deadrank replay")));
}

TEST(Suite, AFileThatDoesNotLoadRefusesTheWholeSuite) {
    const fs::path directory = fs::path(testing::TempDir()) / "deadrank_broken_suite";
    fs::create_directories(directory);
    std::ofstream(directory / "broken.toml") << "format = 1\nstpe = 3\n";
    const auto suite = Suite::open({.scenarios = directory, .data = data});
    ASSERT_FALSE(suite);
    EXPECT_THAT(suite.error().text(), HasSubstr("broken.toml:1:1"));
    fs::remove_all(directory);
}

TEST(Suite, AnEmptyDirectoryIsNoSuite) {
    const fs::path directory = fs::path(testing::TempDir()) / "deadrank_empty_suite";
    fs::create_directories(directory);
    const auto suite = Suite::open({.scenarios = directory, .data = data});
    ASSERT_FALSE(suite);
    EXPECT_THAT(suite.error().text(), HasSubstr("holds no scenario"));
    fs::remove_all(directory);
}

// Goal: of real processes a scenario is played once, whatever came of it, and options never get behind the --
// after which the command of the program under test begins.
TEST(Pytest, PlaysOnceAndKeepsTheProgramsCommandLast) {
    const fs::path place = fs::path(testing::TempDir()) / ("deadrank_pytest_" + std::to_string(getpid()));
    fs::create_directories(place);
    std::ofstream(place / "deadrank") << "#!/bin/sh\necho \"$@\" >> " << (place / "calls").string() << R"(
while [ "$1" != -- ]; do
  [ "$1" = --junit ] && echo '<suite><testcase><failure>it was rank 1</failure></testcase></suite>' > "$2"
  shift
done
echo '{"scenario": "mine", "verdict": "fail", "reason": "wrong rank"}'
exit 1
)";
    fs::permissions(place / "deadrank", fs::perms::owner_all);
    const Answer answer = shell("cd '" + place.string() + "' && PYTHONDONTWRITEBYTECODE=1 PYTHONPATH='" +
                                (source / "runners/suites/pytest").string() + "' python3 -c '" + R"(
from pytest_deadrank.program import Deadrank
usual = ["--no-heal", "--", "torchrun", "train.py"]
plays = Deadrank("./deadrank", "local", arguments=usual)
outcome = plays.run("mine.toml", "--ranks", "2")
print(outcome.verdict, outcome.story)
plays.run("mine.toml", "--", "torchrun", "other.py", "--json")
)" + "' && cat calls");
    EXPECT_EQ(answer.code, 0) << answer.out;
    EXPECT_THAT(answer.out, HasSubstr("fail it was rank 1"));
    EXPECT_THAT(answer.out,
                testing::ContainsRegex("--no-heal --ranks 2 --json --junit [^ ]+ -- torchrun train.py\n"));
    EXPECT_THAT(answer.out, testing::ContainsRegex("--junit [^ ]+ -- torchrun other.py --json\n"));
    EXPECT_EQ(std::count(answer.out.begin(), answer.out.end(), '\n'), 3) << answer.out;
    fs::remove_all(place);
}

// Installs this build once for all tests of the suite.
class DeviceSuites : public testing::Test {
protected:
    static void SetUpTestSuite() {
        place_ = fs::path(testing::TempDir()) / ("deadrank_installed_" + std::to_string(getpid()));
        fs::remove_all(place_);
        const Answer installed = shell("cmake --install '" DEADRANK_BINARY_DIRECTORY "' --prefix '" +
                                       (place_ / "prefix").string() + "'");
        installed_ = installed.code == 0;
        EXPECT_TRUE(installed_) << installed.out;
    }
    static void TearDownTestSuite() { fs::remove_all(place_); }
    void SetUp() override {
        if (!installed_)
            GTEST_SKIP() << "this build cannot be installed: it was configured as part of another, "
                            "or with a sanitizer";
    }

    static std::string quoted(const fs::path& path) { return "'" + path.string() + "'"; }
    static fs::path place_;
    static bool installed_;
};
fs::path DeviceSuites::place_;
bool DeviceSuites::installed_ = false;

TEST_F(DeviceSuites, AProjectOfHerOwnFindsThePackageAndItsScenariosAreTests) {
    const fs::path build = place_ / "build";
    const Answer configured =
        shell("cmake -G Ninja -S " + quoted(source / "tests/suites/cmake_project") + " -B " + quoted(build) +
              " -DCMAKE_PREFIX_PATH=" + quoted(place_ / "prefix"));
    ASSERT_EQ(configured.code, 0) << configured.out;
    const Answer built = shell("ninja -C " + quoted(build));
    ASSERT_EQ(built.code, 0) << built.out;
    const Answer tested = shell("cd " + quoted(build) + " && ctest --no-tests=error --output-on-failure");
    EXPECT_EQ(tested.code, 0) << tested.out;
    EXPECT_THAT(tested.out, AllOf(HasSubstr("deadrank.scenarios/token_is_dropped"), HasSubstr("Passed"),
                                  HasSubstr("shipped.communication/rank_leaves_all_reduce"),
                                  HasSubstr("100% tests passed, 0 tests failed out of 3")));

    // Without her detector nobody notices the token: the shipped program must say so, and not know her words.
    const Answer strangers = shell(quoted(place_ / "prefix/bin/deadrank") + " run " +
                                   quoted(source / "tests/suites/cmake_project/scenarios"));
    EXPECT_EQ(strangers.code, 64) << strangers.out;
    EXPECT_THAT(strangers.out, HasSubstr("token_ring"));
}

// UPDATE_GOLDEN=1 writes what they print.
TEST_F(DeviceSuites, TheExamplesBuildOnThePackageAndPrintWhatLiesBesideThem) {
    const fs::path build = place_ / "examples", examples = source / "sim/examples";
    const Answer built =
        shell("cmake -G Ninja -S " + quoted(examples) + " -B " + quoted(build) +
              " -DCMAKE_PREFIX_PATH=" + quoted(place_ / "prefix") + " && ninja -C " + quoted(build));
    ASSERT_EQ(built.code, 0) << built.out;
    for (const std::string name : {"engine", "workload", "fault", "detector", "scenario"}) {
        const Answer answer = shell(quoted(build / name));
        EXPECT_EQ(answer.code, 0) << name << "\n" << answer.out;
        const fs::path expected = examples / (name + ".txt");
        if (std::getenv("UPDATE_GOLDEN")) std::ofstream(expected) << answer.out;
        std::ifstream in(expected);
        const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
        EXPECT_EQ(answer.out, text) << name;
    }
}

TEST_F(DeviceSuites, TheInstalledProgramKnowsItsCatalogueAndRules) {
    const std::string program = "cd / && " + quoted(place_ / "prefix/bin/deadrank") + " ";
    EXPECT_THAT(shell(program + "list").out, HasSubstr("rank_leaves_all_reduce"));
    EXPECT_EQ(shell(program + "run communication/rank_leaves_all_reduce").code, 0);
}

TEST_F(DeviceSuites, PytestCollectsScenarioFilesAndNamesTheOneThatFails) {
    if (shell("/usr/bin/python3 -c 'import pytest'").code != 0)
        GTEST_SKIP() << "pytest is not installed; `apt-get install python3-pytest` brings it";
    const std::string pytest =
        "cd " + quoted(pytest_project) +
        " && PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=" + quoted(place_ / "prefix/share/deadrank/pytest") +
        " PATH=" + quoted(place_ / "prefix/bin") +
        ":$PATH /usr/bin/python3 -m pytest -p pytest_deadrank.plugin -p no:cacheprovider ";
    const Answer all = shell(pytest);
    EXPECT_EQ(all.code, 1) << all.out;
    EXPECT_THAT(all.out, AllOf(HasSubstr("1 failed, 2 passed"), HasSubstr("it was rank 3"),
                               HasSubstr("deadrank replay"), Not(HasSubstr("Traceback"))));
    const Answer missing = shell(pytest + "--deadrank /nonexistent/deadrank");
    EXPECT_EQ(missing.code, 1);
    EXPECT_THAT(missing.out, AllOf(HasSubstr("not found"), HasSubstr("3 failed")));
}

TEST_F(DeviceSuites, PytestPlaysAProgramUnderFaultsOnceForEachSeed) {
    if (shell("/usr/bin/python3 -c 'import pytest'").code != 0)
        GTEST_SKIP() << "pytest is not installed; `apt-get install python3-pytest` brings it";
    if (const auto python = runners::best_python(); !python) GTEST_SKIP() << python.error().text();
    const Answer all = shell(
        "cd " + quoted(source / "tests/suites/pytest_program") + " && PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=" +
        quoted(place_ / "prefix/share/deadrank/pytest") + ":" +
        quoted(place_ / "prefix/share/deadrank/sim/managed/python") + " PATH=" + quoted(place_ / "prefix/bin") +
        ":$PATH /usr/bin/python3 -m pytest -p pytest_deadrank.plugin -p no:cacheprovider -v");
    EXPECT_EQ(all.code, 1) << all.out;
    EXPECT_THAT(all.out, AllOf(HasSubstr("2 failed, 6 passed"), HasSubstr("test_a_killed_rank_is_named[seed3]"),
                               HasSubstr("wrong_result: rank 0 ends with a loss"),
                               HasSubstr("again: deadrank inject"), Not(HasSubstr("api.py:")),
                               Not(HasSubstr("plugin.py:"))));
    EXPECT_THAT(all.out, testing::ContainsRegex("- deadrank -+\nclear_error: (.|\n)*again: deadrank inject --nodes 2"));
}

TEST(Pytest, RefusesAMarkerThatWouldInjectNothing) {
    if (shell("/usr/bin/python3 -c 'import pytest'").code != 0)
        GTEST_SKIP() << "pytest is not installed; `apt-get install python3-pytest` brings it";
    const fs::path place = fs::path(testing::TempDir()) / ("deadrank_markers_" + std::to_string(getpid()));
    fs::create_directories(place);
    const auto collect = [&](const std::string& test) {
        std::ofstream(place / "test_one.py") << "import pytest\n" << test << "\n";
        return shell("cd '" + place.string() + "' && PYTHONDONTWRITEBYTECODE=1 PYTHONPATH='" +
                     (source / "runners/suites/pytest").string() +
                     "' /usr/bin/python3 -m pytest -p pytest_deadrank.plugin -p no:cacheprovider --collect-only -q 2>&1");
    };
    const Answer seeds = collect("@pytest.mark.faults('kill', seeds=range(3))\ndef test_a(cluster): pass");
    EXPECT_EQ(seeds.code, 0) << seeds.out;
    EXPECT_THAT(seeds.out, HasSubstr("test_one.py::test_a[seed2]"));
    const Answer alone = collect("@pytest.mark.faults('kill')\ndef test_a(): pass");
    EXPECT_NE(alone.code, 0);
    EXPECT_THAT(alone.out, HasSubstr("does not take the fixture cluster"));
    const Answer number = collect("@pytest.mark.faults('kill', seeds=3)\ndef test_a(cluster): pass");
    EXPECT_NE(number.code, 0);
    EXPECT_THAT(number.out, HasSubstr("write seeds=range(3)"));
    const Answer empty = collect("@pytest.mark.faults('kill', seeds=[])\ndef test_a(cluster): pass");
    EXPECT_NE(empty.code, 0);
    EXPECT_THAT(empty.out, HasSubstr("no test would run"));
    const Answer word = collect("@pytest.mark.faults('kill', seed=3)\ndef test_a(cluster): pass");
    EXPECT_NE(word.code, 0);
    EXPECT_THAT(word.out, HasSubstr("not seed="));
    fs::remove_all(place);
}

// Scenarios that testpaths leaves out would never be played, and nobody would notice.
TEST(Pytest, FailsWhereItCollectsNoneOfTheScenarios) {
    if (shell("/usr/bin/python3 -c 'import pytest'").code != 0)
        GTEST_SKIP() << "pytest is not installed; `apt-get install python3-pytest` brings it";
    const auto quoted = [](const fs::path& path) { return "'" + path.string() + "'"; };
    const fs::path place = fs::path(testing::TempDir()) / ("deadrank_testpaths_" + std::to_string(getpid()));
    fs::create_directories(place / "tests");
    fs::create_directories(place / "bugs");
    std::ofstream(place / "tests/test_one.py") << "def test_one():\n    pass\n";
    std::ofstream(place / "bugs/hang.scenario.toml") << "format = 1\n";
    std::ofstream(place / "pytest.ini") << "[pytest]\ntestpaths = tests\n";
    const std::string pytest = "cd " + quoted(place) + " && PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=" +
                               quoted(source / "runners/suites/pytest") +
                               " /usr/bin/python3 -m pytest -p pytest_deadrank.plugin -p no:cacheprovider ";
    const Answer all = shell(pytest);
    EXPECT_EQ(all.code, 4) << all.out;
    EXPECT_THAT(all.out, HasSubstr("Add bugs to testpaths"));
    EXPECT_EQ(shell(pytest + "tests").code, 0) << "a path that was typed is all that was meant";
    fs::remove_all(place);
}

TEST(DeviceDocs, EveryReferenceInThePublicHeadersLeadsSomewhere) {
    if (shell("command -v doxygen").code != 0) GTEST_SKIP() << "doxygen is not installed";
    const fs::path out = fs::path(testing::TempDir()) / ("deadrank_docs_" + std::to_string(getpid()));
    fs::create_directories(out);
    const Answer made =
        shell("cd '" + source.string() + "' && ( cat .ci/Doxyfile; echo 'OUTPUT_DIRECTORY=" + out.string() +
              "' ) | doxygen -");
    EXPECT_EQ(made.code, 0) << made.out;
    EXPECT_TRUE(fs::exists(out / "html/index.html"));
    EXPECT_TRUE(fs::exists(out / "html/classdeadrank_1_1sim_1_1World.html"));
    fs::remove_all(out);
}

}  // namespace
}  // namespace deadrank::tests
