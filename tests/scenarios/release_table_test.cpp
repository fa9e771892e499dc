// tests/scenarios/release_table_test.cpp — Goal: [release] becomes a program and a fault that gives its ranks
// the release with the bug; a mistake in it is told with its place.
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "runners/backend/extension.h"
#include "scenarios/format/plan_file.h"
#include "scenarios/format/scenario_file.h"
#include "scenarios/model/release.h"
#include "tests/scenarios/sample.h"

namespace deadrank::tests {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

const std::string usual = R"(package = "torchdata"
bug = "0.10.1"
fixed = "0.11.0"
with = ["numpy==2.4.6", "more.txt"]
program = "train.py"
shows = '^epoch 1 had 0 steps$'
)";

class ReleaseTable : public testing::Test {
protected:
    void SetUp() override {
        fs::create_directories(file_.parent_path());
        std::ofstream(file_.parent_path() / "train.py") << "print(1)\n";
        std::ofstream(file_.parent_path() / "more.txt") << "# also\nurllib3==2.2.3\n";
    }
    void TearDown() override { fs::remove_all(file_.parent_path()); }

    scenarios::Result<scenarios::Scenario> load(const std::string& release,
                                                const std::string& more = "") const {
        const std::string toml =
            "format = 1\nbackends = [\"local\"]\n[bug]\nstage = \"fault_tolerance\"\nsymptom = "
            "\"resume_state_regression\"\ncause = \"stale_or_missing_state_update\"\nfix = "
            "\"framework_logic_correction\"\n[cluster]\nnodes = 1\ngpus_per_node = 2\n[release]\n" +
            release + "[expect]\n" + more;
        return scenarios::parse_scenario(toml, file_, sample_taxonomy(), runners::vocabulary());
    }
    std::string refusal(const std::string& release) const {
        const auto loaded = load(release);
        return loaded ? "it was read" : loaded.error().text();
    }

    fs::path file_ =
        fs::path(testing::TempDir()) / fmt::format("release_table_{}", ::getpid()) / "sample.toml";
};

TEST_F(ReleaseTable, BecomesAProgramAndAFault) {
    const auto scenario = load(usual);
    ASSERT_TRUE(scenario) << scenario.error().text();
    const auto trial = scenarios::resolve(*scenario, {1}, {"local", {"*"}, {"*"}, 8}, runners::vocabulary());
    ASSERT_TRUE(trial) << trial.error().text();
    const scenarios::Release release = scenarios::release_of(trial->fault.workload);
    EXPECT_EQ(release.bug.text(), "torchdata==0.10.1");
    EXPECT_EQ(release.fixed.text(), "torchdata==0.11.0");
    EXPECT_EQ(release.all().size(), 4u);
    EXPECT_EQ(release.program, (file_.parent_path() / "train.py").string());
    ASSERT_EQ(trial->fault.faults.size(), 1u);
    EXPECT_EQ(trial->fault.faults.front().text("version"), "0.10.1");
    EXPECT_EQ(trial->fault.faults.front().ranks(), (std::vector<std::int64_t>{0, 1}));
    EXPECT_TRUE(trial->control.faults.empty());
    EXPECT_TRUE(trial->healed.faults.empty());
}

TEST_F(ReleaseTable, IsTheSameAfterItWasAPlan) {
    const auto scenario = load(usual);
    ASSERT_TRUE(scenario);
    const auto trial = scenarios::resolve(*scenario, {1}, {"local", {"*"}, {"*"}, 8}, runners::vocabulary());
    ASSERT_TRUE(trial);
    const auto again = scenarios::parse_plan(scenarios::to_toml(trial->fault), "plan.toml", sample_taxonomy(),
                                             runners::vocabulary());
    ASSERT_TRUE(again) << again.error().text();
    EXPECT_EQ(*again, trial->fault);
}

TEST_F(ReleaseTable, TellsWhatCannotBeMeant) {
    const auto changed = [&](const std::string& from, const std::string& to) {
        std::string text = usual;
        text.replace(text.find(from), from.size(), to);
        return refusal(text);
    };
    EXPECT_THAT(changed("\"0.11.0\"", "\"0.10.1\""), HasSubstr("the fixed release is the one with the bug"));
    EXPECT_THAT(changed("numpy==2.4.6", "numpy>=2"), HasSubstr("'numpy>=2' is not a release"));
    EXPECT_THAT(changed("torchdata", "torch; rm"), HasSubstr("is not a release"));
    EXPECT_THAT(changed("train.py", "gone.py"),
                HasSubstr("there is no program 'gone.py' beside the scenario"));
    EXPECT_THAT(changed("more.txt", "gone.txt"), HasSubstr("the list of releases 'gone.txt' cannot be read"));
    EXPECT_THAT(changed("^epoch 1 had 0 steps$", "(epoch"), HasSubstr("'(epoch' is not a pattern"));
    EXPECT_THAT(changed("shows = '^epoch 1 had 0 steps$'", ""), HasSubstr("must say how the bug is seen"));
    EXPECT_THAT(changed("package", "pakage"), HasSubstr("did you mean 'package'?"));
}

}  // namespace
}  // namespace deadrank::tests
