// Goal: a setting that is turned changes its value in the scenario's text and nothing else, comments
// included.
#include "runners/web/knobs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scenarios/format/plan_file.h"
#include "scenarios/model/document.h"
#include "tests/support/catalog.h"

namespace deadrank::tests {
namespace {

using runners::web::set_in_text;
using testing::HasSubstr;
using testing::Not;

constexpr std::string_view knob_scenario = R"(# A story: ä.
[cluster]
nodes = 2   # two
link.latency = "5us"

[workload]
kind = "data_parallel"

[[fault]]
kind = "kill_rank"
rank = [0, 1]  # a list
when = { step = "3..15", before = "all_reduce" }

[[fault]]
kind = "pause_rank"
)";

std::string turned_text(std::string_view path, std::string_view value) {
    const auto text = set_in_text(knob_scenario, path, value);
    return text ? *text : "error: " + text.error().text();
}

TEST(WebKnobs, ChangeAValueAndKeepTheCommentBehindIt) {
    EXPECT_THAT(turned_text("cluster.nodes", "16"), HasSubstr("nodes = 16   # two\n"));
    EXPECT_THAT(turned_text("fault.0.rank", "any 2"), HasSubstr("rank = \"any 2\"  # a list\n"));
    EXPECT_THAT(turned_text("fault.0.rank", "[3]"), HasSubstr("rank = [3]  # a list\n"));
    EXPECT_THAT(turned_text("fault.0.when.step", "7"),
                HasSubstr("when = { step = 7, before = \"all_reduce\" }"));
    EXPECT_THAT(turned_text("cluster.link.latency", "9us"), HasSubstr("link.latency = \"9us\"\n"));
}

TEST(WebKnobs, AddWhatTheTextDoesNotHave) {
    EXPECT_THAT(turned_text("cluster.debug", "detail"),
                HasSubstr("[cluster]\ndebug = \"detail\"\nnodes = 2"));
    EXPECT_THAT(turned_text("cluster.link.bandwidth", "1Gbps"),
                HasSubstr("[cluster]\nlink.bandwidth = \"1Gbps\"\n"));
    EXPECT_THAT(turned_text("fault.0.when.nth", "2"), HasSubstr("when = { nth = 2, step = \"3..15\""));
    EXPECT_THAT(turned_text("fault.1.when.step", "4"),
                HasSubstr("[[fault]]\nwhen = { step = 4 }\nkind = \"pause_rank\""));
    const auto added = set_in_text("format = 1\n", "cluster.nodes", "4");
    EXPECT_EQ(added.value(), "format = 1\n\n[cluster]\nnodes = 4\n");
}

TEST(WebKnobs, TakeASettingOut) {
    EXPECT_THAT(turned_text("cluster.nodes", ""), HasSubstr("[cluster]\nlink.latency"));
    EXPECT_THAT(turned_text("fault.0.when.step", ""), HasSubstr("when = { before = \"all_reduce\" }"));
    EXPECT_THAT(turned_text("fault.0.when.before", ""), HasSubstr("when = { step = \"3..15\" }"));
    EXPECT_EQ(turned_text("cluster.debug", ""), knob_scenario) << "it was not there";
}

TEST(WebKnobs, RefuseWhatIsNoSettingAndWhatIsNoValue) {
    for (const char* path :
         {"bug.cause", "fault.2.rank", "fault.x.rank", "cluster", "fault.0", "fault.0.when", "format"})
        EXPECT_THAT(turned_text(path, "1"), HasSubstr("error:")) << path;
    EXPECT_THAT(turned_text("cluster.nodes", "[1"), HasSubstr("no value"));
    EXPECT_THAT(turned_text("cluster.a b", "1"), HasSubstr("not the name of a setting"));
    EXPECT_THAT(set_in_text("nodes = = 2", "cluster.nodes", "1").error().place.line, 1);
}

// What a person types cannot leave its value: the text parses to one string, whatever is in it.
TEST(WebKnobs, QuoteWhatIsTyped) {
    const auto text = set_in_text(knob_scenario, "workload.kind", "a\"\n[cluster]\nx = 1");
    ASSERT_TRUE(text) << text.error().text();
    const auto document = scenarios::parse_document(*text, "x.toml");
    ASSERT_TRUE(document);
    EXPECT_EQ((*document)["workload"]["kind"].text, "a\"\n[cluster]\nx = 1");
}

// Every knob of every scenario can be set to the value that it has, and the plan stays the same.
TEST(WebKnobs, OfTheWholeCatalogueAreFoundWhereTheyAreWritten) {
    const ShippedCatalog catalog;
    std::size_t turned_knobs = 0;
    for (const auto& scenario : catalog.scenarios) {
        const std::string text = scenarios::read_text(scenario.file).value();
        const auto trial =
            scenarios::resolve(scenario, scenarios::Seed{1},
                               {.backend = "sim", .levers = {"*"}, .workloads = {"*"}}, catalog.vocabulary);
        ASSERT_TRUE(trial) << scenario.id;
        for (const auto& knob : runners::web::list_knobs(scenario, trial->fault, text, catalog.vocabulary)) {
            if (knob.written.empty()) continue;
            const auto same = set_in_text(text, knob.path, knob.written);
            ASSERT_TRUE(same) << scenario.id << " " << knob.path;
            EXPECT_EQ(*same, text) << scenario.id << " " << knob.path << " = " << knob.written;
            ++turned_knobs;
        }
    }
    EXPECT_GT(turned_knobs, 500u);
}

}  // namespace
}  // namespace deadrank::tests
