// Goal: a tool is judged for what it can say, by the same judge as ours; the scorecard says which release it
// was of, and a tool that is not here is skipped with the sentence that says how to get it.
#include "runners/score/score.h"

#include <cstdlib>
#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "runners/commands/judge/score_report.h"
#include "scenarios/format/scenario_file.h"
#include "scenarios/format/taxonomy_file.h"
#include "scenarios/model/scenario.h"
#include "tests/support/catalog.h"

namespace deadrank::tests {
namespace {

using results::Finding;
using results::Outcome;
using runners::Tool;
using runners::ToolCase;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Says always the same.
class Parrot final : public results::Detector {
public:
    explicit Parrot(std::vector<Finding> findings) : findings_(std::move(findings)) {}
    std::string_view name() const override { return "parrot"; }
    std::vector<std::string_view> symptoms() const override { return {"collective_deadlock_hang"}; }
    std::vector<Finding> examine(const results::Evidence&) const override { return findings_; }

private:
    std::vector<Finding> findings_;
};

Tool tool_of(std::unique_ptr<results::Detector> detector,
             scenarios::BlameFields blames = {scenarios::BlameField::rank}) {
    Tool tool{"parrot", "1.0", {}, std::move(blames), {}};
    tool.detectors.push_back(std::move(detector));
    return tool;
}

const ShippedCatalog& catalog() {
    static const ShippedCatalog shipped;
    return shipped;
}

std::vector<std::vector<ToolCase>> scored(const std::vector<Tool>& tools, const std::string& scenario) {
    return runners::score_tools(tools, {{&catalog().named(scenario), scenarios::Seed{1}}},
                                [] { return std::make_unique<runners::SimRunner>(); }, catalog().vocabulary,
                                {});
}

TEST(Score, AsksAToolOnlyForWhatItCanName) {
    scenarios::Expectation expect;
    expect.symptom = "collective_timeout_abort";
    expect.blames = {scenarios::BlameField::rank, scenarios::BlameField::step};
    expect.also = {"collective_deadlock_hang"};
    expect.reaction = scenarios::WantedReaction::clear_error;
    const Tool parrot = tool_of(std::make_unique<Parrot>(std::vector<Finding>{}));
    const auto plain = runners::expectation_for(parrot, expect, {});
    EXPECT_THAT(plain.blames, ElementsAre(scenarios::BlameField::rank));
    EXPECT_EQ(plain.reaction, scenarios::WantedReaction::any);
    EXPECT_EQ(plain.symptom, "collective_timeout_abort");
    Finding allowed;
    allowed.symptom = "collective_deadlock_hang";
    const auto other = runners::expectation_for(parrot, expect, {allowed});
    EXPECT_EQ(other.symptom, "collective_deadlock_hang");
    EXPECT_THAT(other.also, ElementsAre("collective_timeout_abort"));
}

TEST(Score, CallsARingInTheControlAFalseAlarm) {
    Finding alarm;
    alarm.symptom = "collective_deadlock_hang";
    alarm.detector = "parrot";
    alarm.blame.ranks = {7};
    std::vector<Tool> tools;
    tools.push_back(tool_of(std::make_unique<Parrot>(std::vector<Finding>{alarm})));
    tools.push_back(tool_of(std::make_unique<Parrot>(std::vector<Finding>{})));
    const auto cases = scored(tools, "communication/rank_leaves_all_reduce");
    EXPECT_EQ(cases[0][0].outcome.control->outcome, Outcome::false_alarm);
    EXPECT_NE(cases[0][0].outcome.fault->outcome, Outcome::caught) << "rank 7 it was not";
    EXPECT_EQ(cases[1][0].outcome.fault->outcome, Outcome::silent);
    EXPECT_TRUE(cases[1][0].in_field);
}

TEST(Score, LeavesOutWhatAToolCannotReport) {
    std::vector<Tool> tools;
    tools.push_back(tool_of(std::make_unique<Parrot>(std::vector<Finding>{})));
    const auto cases = scored(tools, "scheduling/thermal_throttling");
    const auto score = runners::commands::score_of(tools[0], cases[0], {});
    EXPECT_EQ(score.outside, 1u);
    EXPECT_EQ(score.outside_rang, 0u);
    EXPECT_EQ(score.card.total.cases, 0u);
}

TEST(Score, SkipsAToolThatIsNotHereAndSaysHowToGetIt) {
    std::vector<Tool> tools;
    tools.push_back({"absent", "", "absent: it is not installed — install it", {}, {}});
    const auto cases = scored(tools, "communication/rank_leaves_all_reduce");
    EXPECT_THAT(cases[0], IsEmpty());
    const auto score = runners::commands::score_of(tools[0], cases[0], {});
    EXPECT_THAT(runners::commands::tool_table(score, {}), HasSubstr("skipped: absent: it is not installed"));
    const auto json = nlohmann::json::parse(runners::commands::score_json({score}));
    EXPECT_EQ(json["tools"][0]["skipped"], "absent: it is not installed — install it");
}

TEST(Score, IsARowForASpreadsheetWithTheRelease) {
    std::vector<Tool> tools;
    tools.push_back(tool_of(std::make_unique<Parrot>(std::vector<Finding>{})));
    const auto cases = scored(tools, "communication/rank_leaves_all_reduce");
    const std::string csv =
        runners::commands::score_csv({runners::commands::score_of(tools[0], cases[0], {})});
    EXPECT_THAT(csv, HasSubstr("tool,version,class,cases,caught,wrong_rank"));
    EXPECT_THAT(csv, HasSubstr(R"("parrot","1.0","all",1,0,0,0,0,1,0,0,0,,0.0000,,)"));
}

// One of the scenarios for tools.
scenarios::Scenario for_tools(const std::string& name) {
    const std::filesystem::path root = DEADRANK_SOURCE_DIRECTORY;
    const auto taxonomy = scenarios::load_taxonomy(root / "scenarios/taxonomy.toml");
    EXPECT_TRUE(taxonomy);
    auto scenario = scenarios::load(root / "results/external/scenarios" / (name + ".toml"), *taxonomy,
                                    catalog().vocabulary);
    EXPECT_TRUE(scenario) << (scenario ? "" : scenario.error().text());
    return std::move(*scenario);
}

ToolCase judged(Tool tool, const scenarios::Scenario& scenario) {
    std::vector<Tool> tools;
    tools.push_back(std::move(tool));
    auto cases =
        runners::score_tools(tools, {{&scenario, scenarios::Seed{1}}},
                             [] { return std::make_unique<runners::SimRunner>(); }, catalog().vocabulary, {});
    return std::move(cases.at(0).at(0));
}

// Goal: a release that gets better is told as one that got worse: it is no longer what was pinned.
TEST(KnownLimit, ShowsAChangeEitherWayAndOnlyOfThatRelease) {
    const auto scenario = for_tools("all_hung_in_one_operation");
    Finding right;
    right.symptom = "collective_deadlock_hang", right.detector = "parrot", right.at = results::Time{1};
    const auto parrot = [&](std::vector<Finding> says, const char* version) {
        Tool tool = tool_of(std::make_unique<Parrot>(std::move(says)));
        tool.name = "torchfrtrace", tool.version = version;
        return judged(std::move(tool), scenario);
    };
    const ToolCase same = parrot({}, "2.11.0");
    ASSERT_NE(same.pinned, nullptr);
    EXPECT_TRUE(same.matches_pin());
    const ToolCase better = parrot({right}, "2.12.0");
    ASSERT_NE(better.pinned, nullptr);
    EXPECT_FALSE(better.matches_pin()) << "it speaks now";
    EXPECT_EQ(parrot({}, "2.7.1").pinned, nullptr) << "nothing is known of that release";
    const Tool tool{"torchfrtrace", "2.12.0", {}, {}, {}};
    const auto text = runners::commands::pinned_text(runners::commands::score_of(tool, {better}, {}), {});
    EXPECT_THAT(text, HasSubstr("no longer silent"));
}

// Goal: what is pinned of tools that need no installation holds.
TEST(KnownLimit, HoldsForWhatIsAlwaysHere) {
    int seen = 0;
    for (const results::KnownLimit& limit : results::known_limits()) {
        if (limit.tool != "c10d" && limit.tool != "nccl_ras") continue;
        const auto one =
            judged(*runners::find_tool(std::string(limit.tool), {}), for_tools(std::string(limit.scenario)));
        ASSERT_NE(one.pinned, nullptr);
        EXPECT_TRUE(one.matches_pin())
            << limit.tool << " on " << limit.scenario << ": " << one.outcome.fault->reason;
        ++seen;
    }
    EXPECT_EQ(seen, 2);
}

class DeviceKnownLimit : public testing::TestWithParam<std::string_view> {};

TEST_P(DeviceKnownLimit, Holds) {
    const results::processes::Bounds patient{.time = std::chrono::minutes(5)};
    const auto tool = runners::find_tool(std::string(GetParam()), patient);
    if (!tool->missing.empty()) GTEST_SKIP() << tool->missing;
    int seen = 0;
    for (const results::KnownLimit& limit : results::known_limits()) {
        if (limit.tool != GetParam()) continue;
        const auto one = judged(*runners::find_tool(std::string(GetParam()), patient),
                                for_tools(std::string(limit.scenario)));
        ASSERT_NE(one.pinned, nullptr);
        EXPECT_TRUE(one.matches_pin()) << one.outcome.fault->reason;
        ++seen;
    }
    EXPECT_GT(seen, 0);
}

INSTANTIATE_TEST_SUITE_P(Nvrx, DeviceKnownLimit, testing::Values("nvrx_fr_attribution", "nvrx_restart_agent"),
                         [](const auto& one) { return std::string(one.param); });

TEST(Score, KnowsEveryToolByName) {
    EXPECT_THAT(runners::tool_names(), testing::Contains("torchfrtrace"));
    const auto unknown = runners::find_tool("torchfrtrase", {});
    ASSERT_FALSE(unknown);
    EXPECT_THAT(unknown.error().remedy, HasSubstr("torchfrtrace"));
}

}  // namespace
}  // namespace deadrank::tests
