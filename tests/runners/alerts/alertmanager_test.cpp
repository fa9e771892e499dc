// tests/runners/alerts/alertmanager_test.cpp — Goal: pages are those that a real Alertmanager sends: with
// each route's own waits and repeats, without alerts that cleared before them, that a time interval mutes, or
// that another alert inhibits.
#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "results/alerts/pager_config.h"
#include "results/external/promtool.h"
#include "results/processes/bounded.h"
#include "runners/serve/pager.h"
#include "tests/support/shell.h"

namespace deadrank::tests {
namespace {

namespace fs = std::filesystem;
using results::alerts::AlertVerdict;
using results::alerts::Cell;
using results::alerts::Interval;
using results::alerts::Row;
using results::alerts::Study;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string data = DEADRANK_SOURCE_DIRECTORY "/tests/data/alertmanager/";

class DeviceAlertmanager : public testing::Test {
protected:
    void SetUp() override {
        if (results::processes::find_program(program_).empty()) GTEST_SKIP() << "there is no Alertmanager";
    }

    // A failure at 15 min that is repaired at 30 min, and an alert that fires then. The run ends at 45 min.
    void add_row(const std::string& team, const std::string& alert, Interval firing) {
        if (study_.rules.empty()) study_.rules.push_back({.name = "A"});
        Row row;
        row.incident.id = team;
        row.incident.at = 900;
        row.incident.until = 1800;
        row.cells.push_back({.verdict = AlertVerdict::caught});
        row.played.activity.push_back({{{{"alertname", alert}, {"team", team}}, {}, {firing}}});
        study_.rows.push_back(row);
    }
    void ask(const std::string& config, const std::function<bool()>& stopped = {}) {
        const auto asked = runners::serve::query_pager(study_, program_, data + config, stopped);
        ASSERT_TRUE(asked) << asked.error().text();
    }

    const std::string program_ = "prometheus-alertmanager";
    Study study_;
};

TEST_F(DeviceAlertmanager, CountsWhatEachRouteSends) {
    add_row("patient", "Short", {960, 1020});      // clears after 1 of the 12 minutes
    add_row("patient", "Long", {960, 1860});       // and one that stays
    add_row("muted", "Muted", {960, 1500});        // where a time interval mutes at all times
    add_row("repeated", "Repeated", {960, 1800});  // 14 minutes, again after each 5
    add_row("other", "Other", {960, 1260});        // after the root's wait
    add_row("other", "Earlier", {0, -1});  // rings since the beginning: its page came before the failure
    ask("waits.alertmanager.yml");
    std::vector<int> pages;
    for (const Row& row : study_.rows) pages.push_back(row.pages);
    EXPECT_THAT(pages, ElementsAre(0, 1, 0, 3, 1, 0));
    EXPECT_THAT(study_.rows[0].cells[0].paged, IsEmpty());
    EXPECT_THAT(study_.rows[1].cells[0].paged, ElementsAre("patient"));
    EXPECT_THAT(study_.rows[2].cells[0].paged, IsEmpty());
    EXPECT_THAT(study_.rows[3].cells[0].paged, ElementsAre("repeated"));
    EXPECT_THAT(testing::PrintToString(study_.notes), HasSubstr("at the moment of this run"))
        << "a time interval depends on a wall clock, and the report admits it";
}

// Alerts of one failure neither join the groups of another nor inhibit its alerts.
TEST_F(DeviceAlertmanager, KeepsFailuresApart) {
    for (const char* failure : {"first", "second"}) add_row(failure, "Same", {960, 1260});
    add_row("third", "NodeDown", {930, 1260});
    add_row("fourth", "SLURMNodeDown", {960, 1260});
    ask("inhibition.alertmanager.yml");
    for (const Row& row : study_.rows) {
        EXPECT_EQ(row.pages, 1) << row.incident.id;
        EXPECT_THAT(row.cells[0].suppressed_by, IsEmpty()) << row.incident.id;
    }
}

TEST_F(DeviceAlertmanager, IsNotAskedWhenTheTimeIsOver) {
    add_row("other", "Other", {960, 1260});
    ask("waits.alertmanager.yml", [] { return true; });
    EXPECT_EQ(study_.rows[0].pages, -1);
    EXPECT_FALSE(study_.complete);
    // And it is left in the middle of a play that the limit ends.
    const auto began = std::chrono::steady_clock::now();
    ask("waits.alertmanager.yml",
        [&] { return std::chrono::steady_clock::now() - began > std::chrono::milliseconds(200); });
    EXPECT_EQ(study_.rows[0].pages, -1);
}

TEST_F(DeviceAlertmanager, SuppressesWhatAnotherAlertExplains) {
    if (!results::external::Promtool::find()) GTEST_SKIP() << "promtool is not installed";
    const fs::path out = fs::path(testing::TempDir()) / ("deadrank-alertmanager-" + std::to_string(getpid()));
    const std::string command = DEADRANK_BINARY_DIRECTORY "/deadrank alerts -o " + out.string() +
                                " --rules " + data + "inhibited.rules.yml --alertmanager " + data +
                                "inhibition.alertmanager.yml --scenarios node_down --cluster 2x2";
    const std::string catalog = "DEADRANK_CATALOG='" DEADRANK_SOURCE_DIRECTORY "/scenarios/catalog' ";
    const Answer answer = shell(catalog + command + " --json 2>/dev/null");
    const auto report = nlohmann::json::parse(answer.out, nullptr, false);
    ASSERT_FALSE(report.is_discarded()) << answer.out;
    const auto& failure = report["faults"][0];
    EXPECT_EQ(failure["pages"], 1) << failure.dump(2);
    ASSERT_EQ(failure["cells"].size(), 2u);
    EXPECT_EQ(failure["cells"][0]["paged"], nlohmann::json({"pager"}));
    EXPECT_FALSE(failure["cells"][1].contains("paged"));
    EXPECT_EQ(failure["cells"][1]["suppressed_by"], nlohmann::json({"NodeDown"}));
    const Answer text = shell(catalog + command + " --explain 2>&1");
    EXPECT_THAT(text.out,
                HasSubstr("node_down: 1 page to pager; suppressed: KubernetesNodeNotReady by NodeDown"));
    fs::remove_all(out);
}

// Waits that a configuration leaves out are Alertmanager's own, and scaled like the others.
TEST(PagerConfig, ScalesEachWaitAndKeepsTheNamesOfReceivers) {
    const auto config = results::alerts::read_pager_config(data + "waits.alertmanager.yml",
                                                           {"http://127.0.0.1:1/", 120, "incident"});
    ASSERT_TRUE(config) << config.error().text();
    EXPECT_TRUE(config->has_intervals);
    for (const char* line : {"group_wait: 250ms", "group_wait: 6000ms", "group_interval: 2500ms",
                             "repeat_interval: 120000ms", "group_interval: 500ms", "repeat_interval: 2500ms",
                             "name: patient", "send_resolved: false", "incident"})
        EXPECT_THAT(config->text, HasSubstr(line));
    EXPECT_THAT(config->text, testing::Not(HasSubstr("example.org")));
    EXPECT_THAT(config->text, testing::Not(HasSubstr("0123456789abcdef")));
}

}  // namespace
}  // namespace deadrank::tests
