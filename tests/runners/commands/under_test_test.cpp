// tests/runners/commands/under_test_test.cpp — Goal: a command behind `--` reaches its runner word by word,
// and a program is refused where no program can be played.
#include "runners/commands/under_test.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "results/reports/terminal.h"
#include "runners/extension/extension.h"
#include "runners/pipeline/library.h"

namespace deadrank::runners::commands {
namespace {

using testing::ElementsAre;

TEST(UnderTest, TakesEachWordBehindTheDashes) {
    EXPECT_THAT(
        with_program("run", {"run", "a", "--runner", "local", "--", "torchrun", "--x", "a b"}),
        ElementsAre("run", "a", "--runner", "local", "--command=torchrun", "--command=--x", "--command=a b"));
    EXPECT_THAT(with_program("replay determinism", {"replay", "determinism", "--", "a"}),
                ElementsAre("replay", "determinism", "--command=a"));
    EXPECT_THAT(with_program("watch", {"watch", "--", "a", "", "b"}),
                ElementsAre("watch", "--command=a", "--command", "", "--command=b"));
    EXPECT_THAT(with_program("list", {"list", "--", "a"}), ElementsAre("list", "--", "a"));
}

TEST(UnderTest, IsRefusedByARunnerThatPlaysNoPrograms) {
    const Extension extension;
    const auto refused = programs_under_test("sim", extension, {.names = {"ddp"}});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, scenarios::ErrorCode::usage);
    const auto two =
        programs_under_test("local", extension, {.names = {"ddp"}, .command = {"a", "b"}, .ranks = 2});
    ASSERT_TRUE(two) << two.error().text();
    ASSERT_EQ(two->size(), 2u);
    EXPECT_EQ((*two)[0].words, "--ranks 2 --subject ddp");
    EXPECT_EQ((*two)[1].words, "--ranks 2 -- a b");
    EXPECT_EQ((*two)[1].make()->name(), "local");
}

// Goal: each program once with each level of debugging, and no level without a program.
TEST(UnderTest, IsPlayedWithEachLevelOfDebugging) {
    const Extension extension;
    const auto programs =
        programs_under_test("local", extension, {.names = {"ddp"}, .debug = {"off", "detail"}, .ranks = 2});
    ASSERT_TRUE(programs) << programs.error().text();
    ASSERT_EQ(programs->size(), 2u);
    EXPECT_EQ((*programs)[1].words, "--ranks 2 --debug detail --subject ddp");
    EXPECT_FALSE(programs_under_test("local", extension, {.debug = {"off"}}));
}

// Goal: what shows a case again plays the same program; the simulator's case keeps its token.
TEST(UnderTest, IsNamedByTheCommandsThatShowItsCase) {
    results::Case one{.scenario = "communication/a_bug", .seed = 7, .token = "dr1"};
    one.runner = "local";
    const results::Case shown = of_program(one, "--ranks 2 --subject ddp");
    EXPECT_THAT(
        results::reports::list_repeat_commands(shown),
        ElementsAre("deadrank run communication/a_bug --seed 7 --runner local --ranks 2 --subject ddp"));
    EXPECT_EQ(of_program(one, "").token, "dr1");
}

// Goal: a scenario for many nodes keeps two, and no group is larger than the job.
TEST(Scaled, KeepsTwoNodesAndBoundsGroups) {
    scenarios::Scenario scenario;
    scenario.workload_kind = "tensor_parallel";
    const scenarios::Scenario two = scaled(scenario, 2);
    EXPECT_EQ(two.cluster.at("nodes").options.front().number, 2);
    EXPECT_EQ(two.cluster.at("gpus_per_node").options.front().number, 1);
    EXPECT_EQ(two.workload.at("tp_size").options.front().number, 2);
    EXPECT_EQ(scaled(scenario, 3).cluster.at("nodes").options.front().number, 1);
}

// Goal: three ranks on three nodes stay there: a fault that aims at the third node needs it.
TEST(Scaled, LeavesWhatIsWrittenSoAlone) {
    scenarios::Scenario scenario;
    for (const auto& [name, value] : {std::pair{"nodes", 3}, std::pair{"gpus_per_node", 1}})
        scenario.cluster[name].options = {{.type = scenarios::ValueType::integer, .number = value}};
    EXPECT_EQ(scaled(scenario, 3).cluster.at("nodes").options.front().number, 3);
    EXPECT_EQ(scaled(scenario, 2).cluster.at("nodes").options.front().number, 2);
}

}  // namespace
}  // namespace deadrank::runners::commands
