// tests/scenarios/schema_test.cpp — Goal: an editor is told the very words that the loader knows.
#include "scenarios/format/schema.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/scenarios/sample.h"

namespace deadrank::tests {
namespace {

using nlohmann::json;

const json& schema() {
    static const json parsed = json::parse(scenarios::editor_schema(sample_taxonomy(), sample_vocabulary()));
    return parsed;
}

TEST(Schema, IsDraftSevenAndClosed) {
    EXPECT_EQ(schema()["$schema"], "http://json-schema.org/draft-07/schema#");
    EXPECT_EQ(schema()["additionalProperties"], false);
    for (const char* table : {"bug", "cluster", "expect", "heal", "teach", "parity"}) {
        EXPECT_EQ(schema()["properties"][table]["additionalProperties"], false) << table;
    }
}

TEST(Schema, KnowsEverySettingOfTheClusterNestedAsTomlReadsIt) {
    const json& cluster = schema()["properties"]["cluster"]["properties"];
    std::size_t found = 0;
    for (const auto& parameter : scenarios::cluster_parameters()) {
        const auto dot = parameter.name.find('.');
        const json& place =
            dot == std::string::npos ? cluster : cluster[parameter.name.substr(0, dot)]["properties"];
        const std::string name = dot == std::string::npos ? parameter.name : parameter.name.substr(dot + 1);
        ASSERT_TRUE(place.contains(name)) << parameter.name;
        EXPECT_NE(place[name]["description"].get<std::string>().find(parameter.what), std::string::npos);
        ++found;
    }
    EXPECT_EQ(found, scenarios::cluster_parameters().size());
    EXPECT_EQ(cluster["nodes"]["minimum"], 1);
}

TEST(Schema, TellsKindsApartByTheirKind) {
    const auto vocabulary = sample_vocabulary();
    const json& faults = schema()["properties"]["fault"]["items"]["oneOf"];
    ASSERT_EQ(faults.size(), vocabulary.faults.size());
    for (std::size_t i = 0; i < faults.size(); ++i) {
        EXPECT_EQ(faults[i]["properties"]["kind"]["const"], vocabulary.faults[i].name);
        EXPECT_TRUE(faults[i]["properties"].contains("when"));
        for (const auto& parameter : vocabulary.faults[i].parameters) {
            EXPECT_TRUE(faults[i]["properties"].contains(parameter.name)) << parameter.name;
        }
    }
    EXPECT_EQ(faults[1]["required"], (json{"kind", "rank", "name"}));  // set_env: its value may be absent
    EXPECT_EQ(schema()["properties"]["workload"]["oneOf"].size(), vocabulary.workloads.size());
}

TEST(Schema, LetsAnExpectationNameOneSymptomOrSeveral) {
    const json all = schema();
    const json& expect = all["properties"]["expect"]["properties"]["symptom"]["anyOf"];
    EXPECT_EQ(expect[0]["enum"].size(), 34u);
    EXPECT_EQ(expect[1]["type"], "array");
    EXPECT_EQ(all["properties"]["heal"]["properties"]["expect"]["properties"]["symptom"]["anyOf"], expect);
}

TEST(Schema, ListsTheIdsOfTheTaxonomy) {
    const json& bug = schema()["properties"]["bug"]["properties"];
    EXPECT_EQ(bug["symptom"]["enum"].size(), 34u);
    EXPECT_EQ(bug["cause"]["enum"].size(), 28u);
    EXPECT_EQ(bug["fix"]["enum"].size(), 6u);
    EXPECT_EQ(bug["stage"]["enum"].size(), 6u);
}

}  // namespace
}  // namespace deadrank::tests
