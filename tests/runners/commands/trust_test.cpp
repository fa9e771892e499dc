// tests/runners/commands/trust_test.cpp — Goal: no file of a stranger decides which code real processes run
// unless its lines were shown and --trust was given; in the simulator, and in the catalogue, nothing is
// asked.
#include "runners/commands/trust.h"

#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/shell.h"

namespace deadrank::tests {
namespace {

using testing::HasSubstr;
using testing::Not;
namespace fs = std::filesystem;

// A directory of its own, gone after the test.
class Trust : public testing::Test {
protected:
    void SetUp() override {
        directory_ =
            fs::path(testing::TempDir()) /
            ("deadrank_trust_" + std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
        fs::remove_all(directory_);
        fs::create_directories(directory_);
    }
    void TearDown() override { fs::remove_all(directory_); }

    std::string write(const std::string& name, const std::string& text) const {
        std::ofstream(directory_ / name) << text;
        return (directory_ / name).string();
    }
    static std::string scenario(const std::string& cluster, const std::string& fault) {
        return "format = 1\nbackends = [\"sim\", \"local\", \"mpi\", \"gpu\"]\n[bug]\nstage = "
               "\"initialization\"\n"
               "symptom = \"communication_setup_failure\"\ncause = \"misconfigured_environment_variable\"\n"
               "fix = \"resource_and_environment_configuration\"\n[cluster]\nnodes = 2\ngpus_per_node = 1\n" +
               cluster + "[workload]\nkind = \"data_parallel\"\nsteps = 4\n[[fault]]\n" + fault +
               "[expect]\nwithin = \"7m\"\n";
    }
    static Answer deadrank(const std::string& arguments) {
        return shell(DEADRANK_BINARY_DIRECTORY "/deadrank " + arguments + " 2>&1");
    }
    void expect_refusal(const std::string& arguments, const std::string& line) const {
        const Answer answer = deadrank(arguments);
        EXPECT_EQ(answer.code, 64) << arguments << "\n" << answer.out;
        EXPECT_THAT(answer.out, HasSubstr("decides which code real processes run here")) << arguments;
        EXPECT_THAT(answer.out, HasSubstr(line)) << arguments;
        EXPECT_THAT(answer.out, HasSubstr("--trust")) << arguments;
    }

    const std::string harmless_ = "kind = \"kill_rank\"\nrank = \"last\"\nwhen = { step = 2 }\n";
    fs::path directory_;
};

TEST_F(Trust, AsksBeforeAScenarioLoadsCodeIntoRealProcesses) {
    const std::string environment = "environment = { LD_PRELOAD = \"/x.so\", A = \"1\" }\n";
    const std::string file = write("cluster.toml", scenario(environment, harmless_));
    const std::string line = "[cluster] environment: LD_PRELOAD = \"/x.so\"";
    for (const char* runner : {"mpi", "gpu"}) {
        const Answer answer = deadrank("run " + file + " --runner " + runner);
        EXPECT_EQ(answer.code, 64) << answer.out;
        EXPECT_THAT(answer.out, HasSubstr(line)) << runner;
    }
    expect_refusal("run " + file + " --runner local", line);
    expect_refusal("score " + file + " --runner local --tools deadrank", line);
    expect_refusal("replay trace " + file + " --runner local -o " + (directory_ / "t.json").string(), line);
    expect_refusal("report parity " + file, line);
    EXPECT_THAT(deadrank("run " + file).out, Not(HasSubstr("decides which code"))) << "it is simulated";
    expect_refusal("run " + file + " --runner local -- false", line);
}

TEST_F(Trust, AsksBeforeAFaultSetsSuchAVariable) {
    for (const char* name : {"PATH", "PYTHONPATH", "LD_AUDIT", "NCCL_NET_PLUGIN"}) {
        const std::string fault =
            "kind = \"set_env\"\nrank = 1\nname = \"" + std::string(name) + "\"\nvalue = \"/x\\u001b[2J\"\n";
        const std::string file = write("fault.toml", scenario("", fault));
        expect_refusal(
            "run " + file + " --runner local",
            "[[fault]] 1 (set_env): name = \"" + std::string(name) + "\", value = \"/x\\u001B[2J\"");
    }
}

TEST_F(Trust, AsksBeforeAPlanIsReplayedOnRealProcesses) {
    const std::string file =
        write("scenario.toml", scenario("environment = { PYTHONPATH = \"/x\" }\n", harmless_));
    const std::string plan = (directory_ / "plan.toml").string();
    ASSERT_EQ(deadrank("replay plan " + file + " >" + plan).code, 0);
    expect_refusal("replay " + plan + " --runner local", "[cluster] environment: PYTHONPATH = \"/x\"");
}

TEST_F(Trust, AsksBeforeTheCommandOfAManifestIsStarted) {
    const std::string started = (directory_ / "started").string();
    const std::string file =
        write("mine.toml", "format = 1\n[start]\ncommand = [\"touch\", \"" + started +
                               "\"]\nstarts = \"itself\"\nenvironment = { LD_PRELOAD = \"/x.so\" }\n");
    const std::string run =
        "run communication/rank_leaves_all_reduce --runner local --ranks 2 --subject " + file;
    const Answer answer = deadrank(run);
    EXPECT_EQ(answer.code, 64) << answer.out;
    EXPECT_THAT(answer.out, HasSubstr("[start]: command = [\"touch\""));
    EXPECT_THAT(answer.out, HasSubstr("[start] environment: LD_PRELOAD = \"/x.so\""));
    EXPECT_FALSE(fs::exists(started));
}

class DeviceTrust : public Trust {};

TEST_F(DeviceTrust, PlaysItAllTheSameWithTheOption) {
    const std::string file =
        write("cluster.toml", scenario("environment = { LD_PRELOAD = \"/x.so\" }\n", harmless_));
    const std::string harmless = write("harmless.toml", scenario("", harmless_));
    const std::string behind = " --runner local --no-heal --no-control -- false";
    const Answer trusted = deadrank("run --trust " + file + behind);
    EXPECT_THAT(trusted.out, HasSubstr("'/x.so' from LD_PRELOAD"))
        << "it is played, and the loader complains";
    EXPECT_THAT(trusted.out, HasSubstr("--runner local --trust -- false"))
        << "as the command that repeats it";
    EXPECT_THAT(deadrank("run " + harmless + behind).out, HasSubstr("the program ended before it trained"));
    const std::string manifest =
        write("mine.toml", "format = 1\n[start]\ncommand = [\"true\"]\nstarts = \"itself\"\n");
    EXPECT_THAT(deadrank("run communication/rank_leaves_all_reduce --runner local --ranks 2 --no-heal "
                         "--no-control --trust --subject " +
                         manifest)
                    .out,
                HasSubstr("the command started no Python process"));
}

// Goal: what ships with the program is not asked about, unless its directory came with --catalog.
TEST(TrustOfPlaces, IsForTheShippedDataAlone) {
    runners::Library library;
    const fs::path data = DEADRANK_SOURCE_DIRECTORY "/scenarios";
    library.data = data;
    EXPECT_FALSE(runners::commands::is_shipped(library, data / "catalog/a.toml"));
    library.shipped = data;
    EXPECT_TRUE(runners::commands::is_shipped(library, data / "catalog/a.toml"));
    EXPECT_TRUE(runners::commands::is_shipped(library, data / "releases/../catalog/a.toml"));
    EXPECT_FALSE(runners::commands::is_shipped(library, data / "../a.toml"));
    EXPECT_FALSE(runners::commands::is_shipped(library, DEADRANK_SOURCE_DIRECTORY "/scenarios2/a.toml"));
}

}  // namespace
}  // namespace deadrank::tests
