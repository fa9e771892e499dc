// tests/runners/explore/suite_test.cpp — deadrank test: a suite over torch's test classes on simulated ranks passes,
// fails and skips as on real ones, and each test is played once more with a fault.
#include <filesystem>
#include <gmock/gmock.h>

#include "runners/backends/process/mpirun.h"
#include "runners/backends/process/scratch.h"
#include "tests/support/shell.h"

namespace deadrank::tests {
namespace {

using testing::HasSubstr;
using testing::Not;
namespace fs = std::filesystem;

class DeviceSuiteOfTorchClasses : public testing::Test {
protected:
    void SetUp() override {
        const auto python = runners::best_python();
        if (!python) GTEST_SKIP() << python.error().text();
        python_ = python->program.string();
        if (shell("'" + python_ + "' -c 'import expecttest'").code != 0)
            GTEST_SKIP() << "torch's test classes need the package expecttest: pip install expecttest";
    }

    // Without CI, under which torch's run_tests() wants the package xmlrunner.
    Answer test(const std::string& options, const std::string& arguments,
                const std::string& file = "test_ranks.py") const {
        return shell("cd '" + (fs::path(DEADRANK_SOURCE_DIRECTORY) / "tests/suites/torch_project").string() +
                     "' && env -u CI PYTHONDONTWRITEBYTECODE=1 '" DEADRANK_BINARY_DIRECTORY "/deadrank' test " + options + " -- '" + python_ +
                     "' " + file + " " + arguments + " 2>&1");
    }

    std::string python_;
};

TEST_F(DeviceSuiteOfTorchClasses, PassesFailsAndSkipsAsOnRealRanks) {
    const Answer all = test("", "");
    EXPECT_NE(all.code, 0);
    // The last lines alone, since the tracebacks of all ranks are pages.
    EXPECT_THAT(all.out.substr(all.out.size() - 150),
                testing::AllOf(HasSubstr("Ran 7 tests"), HasSubstr("FAILED (errors=2, skipped=1)")));
    for (const char* words : {"ERROR: test_with_a_wrong_sum", "Expected 5 but got 4.0",
                              "ERROR: test_in_which_a_rank_is_late", "Timed out waiting",
                              "deadrank: 7 tests on simulated ranks"})
        EXPECT_TRUE(all.out.find(words) != std::string::npos) << words;
}

// pytest of this machine's packages, in the Python that has torch.
TEST_F(DeviceSuiteOfTorchClasses, AnOptionOfPytestPlaysItsSuiteOnSimulatedRanks) {
    const Answer place = shell("/usr/bin/python3 -c 'import pytest; print(pytest.__path__[0])' 2>/dev/null");
    if (place.code != 0)
        GTEST_SKIP() << "pytest is not installed; `apt-get install python3-pytest` brings it";
    const fs::path packages = fs::path(place.out).parent_path();
    const fs::path own = fs::path(testing::TempDir()) / "deadrank_pytest_of_torch";
    fs::remove_all(own);
    fs::create_directories(own);
    for (const char* name :
         {"pytest", "_pytest", "pluggy", "iniconfig", "packaging", "attr", "attrs", "py.py"})
        if (fs::exists(packages / name)) fs::create_symlink(packages / name, own / name);
    const fs::path source = DEADRANK_SOURCE_DIRECTORY;
    const auto pytest = [&](const std::string& arguments) {
        return shell(
            "cd '" + (source / "tests/suites/torch_project").string() +
            "' && env -u CI PYTHONDONTWRITEBYTECODE=1 PYTHONPATH='" + own.string() + ":" +
            (source / "runners/suites/pytest").string() + "' '" + python_ +
            "' -m pytest -p pytest_deadrank.plugin -p no:cacheprovider --deadrank '" DEADRANK_BINARY_DIRECTORY
            "/deadrank' " +
            arguments + " 2>&1");
    };
    const Answer two = pytest("--deadrank-ranks=simulated test_ranks.py -k test_sum");
    EXPECT_EQ(two.code, 0) << two.out;
    EXPECT_THAT(two.out, testing::AllOf(HasSubstr("2 passed, 5 deselected"),
                                        HasSubstr("deadrank: 2 tests on simulated ranks")));
    const Answer wrong = pytest("--deadrank-ranks=simulated test_ranks.py -k test_with_a_wrong_sum");
    EXPECT_EQ(wrong.code, 1) << wrong.out;
    const Answer alone = pytest("--deadrank-gpus=2 test_gpus.py");
    EXPECT_EQ(alone.code, 4) << alone.out;
    EXPECT_THAT(alone.out, HasSubstr("--deadrank-gpus needs --deadrank-ranks=simulated"));
    if (!runners::standin_libraries().empty()) {
        const Answer gpus = pytest("--deadrank-ranks=simulated --deadrank-gpus=2 test_gpus.py");
        EXPECT_EQ(gpus.code, 0) << gpus.out;
        EXPECT_THAT(gpus.out, HasSubstr("deadrank: 3 tests on simulated ranks"));
    }
    fs::remove_all(own);
}

TEST_F(DeviceSuiteOfTorchClasses, PlaysEachTestThatPassesOnceMoreWithAFault) {
    const Answer all = test("--faults kill", "TestSums.test_sum TestWorkers.test_sum");
    EXPECT_EQ(all.code, 0) << all.out;
    EXPECT_THAT(all.out, HasSubstr("2 tests with a fault"));
    EXPECT_THAT(all.out, Not(HasSubstr("hangs")));
    const Answer again = test("--faults kill", "TestSums.test_sum TestWorkers.test_sum");
    EXPECT_EQ(all.out.substr(all.out.find("deadrank:")), again.out.substr(again.out.find("deadrank:")));
}

TEST_F(DeviceSuiteOfTorchClasses, ATestThatSwallowsTheErrorHangsUnderAFault) {
    const Answer one = test("--faults 'kill' --seed 2", "TestSums.test_that_swallows_errors");
    EXPECT_EQ(one.code, 1) << one.out;
    EXPECT_THAT(one.out, HasSubstr("deadrank: hangs: __main__.TestSums.test_that_swallows_errors, kill rank"));
}

TEST_F(DeviceSuiteOfTorchClasses, ATestThatDoesWhatIsNotSimulatedGetsRealProcesses) {
    const Answer all = test("", "", "test_rpc.py");
    EXPECT_EQ(all.code, 0) << all.out;
    EXPECT_THAT(all.out, HasSubstr("deadrank: 1 test on simulated ranks"));
    EXPECT_THAT(all.out, HasSubstr("deadrank: 1 test ran on ranks that are not simulated: torch.distributed.rpc is not simulated: "
                                   "__main__.TestRpc.test_sum"));
}

TEST_F(DeviceSuiteOfTorchClasses, RanksWorkOnOtherDevicesThanTheFirstThatTheyTookMemoryOf) {
    if (runners::standin_libraries().empty()) GTEST_SKIP() << "the libraries of simulated GPUs are not built";
    const Answer all = test("--gpus 2", "", "test_gpus.py");
    EXPECT_EQ(all.code, 0) << all.out;
    EXPECT_THAT(all.out, HasSubstr("Ran 3 tests"));
}

TEST_F(DeviceSuiteOfTorchClasses, SaysSoWhenNoTestStartedRanks) {
    const Answer none = shell("'" DEADRANK_BINARY_DIRECTORY "/deadrank' test -- true 2>&1");
    EXPECT_EQ(none.code, 2);
    EXPECT_THAT(none.out, HasSubstr("no test started ranks"));
    const Answer failing = shell("'" DEADRANK_BINARY_DIRECTORY "/deadrank' test -- sh -c 'exit 5' 2>&1");
    EXPECT_EQ(failing.code, 5);
}

}  // namespace
}  // namespace deadrank::tests
