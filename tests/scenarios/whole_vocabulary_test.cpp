// tests/scenarios/whole_vocabulary_test.cpp — Goal: what the folders state as words can be read, drawn, shown
// and started from; a slip there shows here.
#include <algorithm>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <set>

#include "runners/extension/extension.h"
#include "scenarios/format/plan_file.h"
#include "scenarios/format/scenario_file.h"
#include "scenarios/format/schema.h"
#include "scenarios/format/skeleton.h"
#include "scenarios/model/document.h"
#include "tests/scenarios/sample.h"

namespace deadrank::tests {
namespace {

using scenarios::Kind;
using scenarios::Parameter;
using scenarios::ValueType;
using scenarios::Vocabulary;

const Vocabulary& words() {
    static const Vocabulary all = runners::vocabulary();
    return all;
}

std::vector<std::pair<std::string, Parameter>> all_parameters() {
    std::vector<std::pair<std::string, Parameter>> all;
    for (const auto* kinds : {&words().faults, &words().workloads}) {
        for (const Kind& kind : *kinds) {
            for (const Parameter& parameter : kind.parameters)
                all.emplace_back(kind.name + "." + parameter.name, parameter);
        }
    }
    for (const Parameter& parameter : scenarios::cluster_parameters())
        all.emplace_back("cluster." + parameter.name, parameter);
    for (const Parameter& parameter : scenarios::trigger_parameters())
        all.emplace_back("when." + parameter.name, parameter);
    return all;
}

TEST(WholeVocabulary, HasDefaultsThatCanBeRead) {
    for (const auto& [name, parameter] : all_parameters()) {
        if (parameter.fallback.empty()) continue;
        if (parameter.type == ValueType::ranks || parameter.type == ValueType::nodes) continue;  // a selector
        const auto value = scenarios::parse_value(parameter.type, parameter.fallback);
        ASSERT_TRUE(value) << name << ": " << value.error().text();
        EXPECT_GE(value->number, value->number == 0 ? 0 : parameter.least) << name;
        if (parameter.choices.empty()) continue;
        EXPECT_EQ(std::count(parameter.choices.begin(), parameter.choices.end(), parameter.fallback), 1)
            << name;
    }
}

// What is said of a scenario with this [workload], on a backend that can do everything.
std::string said_of(const std::string& workload) {
    const SampleFile file{.workload = workload};
    const auto scenario = scenarios::parse_scenario(file.toml(), "catalog/communication/sample.toml",
                                                    sample_taxonomy(), words());
    if (!scenario) return scenario.error().text();
    const auto trial = scenarios::resolve(*scenario, {1}, {.levers = {"*"}, .workloads = {"*"}}, words());
    return trial ? "resolves" : trial.error().text();
}

TEST(WholeVocabulary, RefusesASettingWithoutTheOneThatItNeeds) {
    EXPECT_EQ(
        said_of("kind = \"zero\"\nsteps = 10\nalign = 4\n"),
        "catalog/communication/sample.toml:17:9: align does nothing without bucket — set bucket as well, or "
        "leave align out");
    EXPECT_EQ(said_of("kind = \"zero\"\nsteps = 10\nalign = 4\nbucket = 8\n"), "resolves");
    EXPECT_EQ(said_of("kind = \"zero\"\nsteps = 10\nunwritten = \"nan\"\nfetch = \"all_reduce\"\n"),
              "resolves");
}

TEST(WholeVocabulary, SaysOfEveryWordWhatItIs) {
    for (const auto& [name, parameter] : all_parameters()) {
        EXPECT_FALSE(parameter.what.empty()) << name;
        EXPECT_EQ(parameter.type == ValueType::choice, !parameter.choices.empty()) << name;
    }
    std::set<std::string> names;
    for (const auto* kinds : {&words().faults, &words().workloads}) {
        for (const Kind& kind : *kinds) {
            EXPECT_FALSE(kind.what.empty()) << kind.name;
            EXPECT_TRUE(names.insert(kind.name).second) << kind.name << " is there twice";
        }
    }
}

TEST(WholeVocabulary, UsesNoNameThatAFaultNeedsForItself) {
    for (const Kind& kind : words().faults) {
        for (const Parameter& parameter : kind.parameters) {
            EXPECT_NE(parameter.name, "kind") << kind.name;
            EXPECT_NE(parameter.name, "when") << kind.name;
        }
    }
}

TEST(WholeVocabulary, HasASkeletonForEveryFaultOnEveryWorkload) {
    const scenarios::Capabilities all{.levers = {"*"}, .workloads = {"*"}};
    for (const Kind& fault : words().faults) {
        for (const Kind& workload : words().workloads) {
            if (workload.name == "recording") continue;  // what it plays is made of evidence
            const auto text = scenarios::skeleton(
                {"communication/mine", "collective_deadlock_hang", fault.name, "", "", workload.name},
                sample_taxonomy(), words());
            ASSERT_TRUE(text) << text.error().text();
            const auto scenario = scenarios::parse_scenario(*text, "catalog/communication/mine.toml",
                                                            sample_taxonomy(), words());
            ASSERT_TRUE(scenario) << scenario.error().text() << "\n" << *text;
            const auto trial = scenarios::resolve(*scenario, {1}, all, words());
            ASSERT_TRUE(trial) << trial.error().text() << "\n" << *text;
            EXPECT_EQ(scenarios::parse_plan(scenarios::to_toml(trial->fault), "plan.toml", sample_taxonomy(),
                                            words()),
                      trial->fault);
        }
    }
}

TEST(WholeVocabulary, HasASkeletonAroundAProgramAndItsBug) {
    scenarios::SkeletonOptions wish{
        "communication/mine", "collective_deadlock_hang", "kill_rank", "", "", "python"};
    wish.program = "mine.py";
    wish.patch = "mine.diff";
    const auto text = scenarios::skeleton(wish, sample_taxonomy(), words());
    ASSERT_TRUE(text) << text.error().text();
    EXPECT_NE(text->find("program = \"mine.py\""), std::string::npos) << *text;
    EXPECT_NE(text->find("patch = \"mine.diff\""), std::string::npos) << *text;
    EXPECT_EQ(text->find("[[fault]]"), std::string::npos) << *text;
    EXPECT_EQ(text->find("as_control"), std::string::npos) << *text;
}

// The format reference is for newcomers: its example must be true.
TEST(WholeVocabulary, LoadsTheExampleOfTheGuide) {
    const std::string guide =
        scenarios::read_text(DEADRANK_SOURCE_DIRECTORY "/docs/guides/scenarios.md").value();
    const auto begin = guide.find("```toml\n") + 8;
    const std::string example = guide.substr(begin, guide.find("```", begin) - begin);
    const auto scenario =
        scenarios::parse_scenario(example, "catalog/communication/example.toml", sample_taxonomy(), words());
    ASSERT_TRUE(scenario) << scenario.error().text();
    const scenarios::Capabilities all{.levers = {"*"}, .workloads = {"*"}};
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        const auto trial = scenarios::resolve(*scenario, {seed}, all, words());
        EXPECT_TRUE(trial) << trial.error().text();
    }
}

TEST(WholeVocabulary, IsAllInTheEditorSchema) {
    const auto schema = nlohmann::json::parse(scenarios::editor_schema(sample_taxonomy(), words()));
    EXPECT_EQ(schema["properties"]["fault"]["items"]["oneOf"].size(), words().faults.size());
    EXPECT_EQ(schema["properties"]["workload"]["oneOf"].size(), words().workloads.size());
}

}  // namespace
}  // namespace deadrank::tests
