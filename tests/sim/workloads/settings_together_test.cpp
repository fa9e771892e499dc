// tests/sim/workloads/settings_together_test.cpp — Goal: settings that each make a right run do so together,
// or are refused on paper with what would do: a control that is wrong would blame any fault.
#include <gtest/gtest.h>

#include "tests/support/healthy_run.h"

namespace deadrank {
namespace {

using results::ValueSample;
using tests::Words;

std::string refusal(const Words& settings) {
    const scenarios::Vocabulary words = runners::vocabulary();
    scenarios::Scenario scenario;
    scenario.id = "test/together";
    scenario.workload_kind = "data_parallel";
    for (const scenarios::Parameter& parameter : words.workload("data_parallel")->parameters) {
        const auto found = settings.find(parameter.name);
        if (found == settings.end()) continue;
        scenario.workload[parameter.name] = {
            .options = {scenarios::parse_value(parameter.type, found->second).value()}};
    }
    const auto trial = scenarios::resolve(scenario, {1}, runners::SimRunner().capabilities(), words);
    return trial ? "" : trial.error().text();
}

// What a run says of itself that is not what it should be.
std::string wrong_in(const Words& settings) {
    const runners::Record record = tests::played(tests::plan_of("data_parallel", settings));
    std::size_t compared = 0;
    for (const results::Event* event : record.evidence.each<ValueSample>()) {
        const auto* sample = event->as<ValueSample>();
        const std::string name(record.evidence.text(sample->name));
        compared += name == "gradient.reduced";
        const double apart = std::abs(sample->value - sample->expected);
        if (apart > 1e-6 * std::abs(sample->expected)) return name;
    }
    return compared == 0 ? "nothing was compared" : "";
}

TEST(SettingsTogether, AnAveragingReductionIsRightUnderEachNormaliser) {
    for (const char* normalise : {"samples", "step", "rank", "micro_batch"}) {
        for (const char* clip : {"", "1/100"}) {
            Words settings = {{"average_in_collective", "true"},
                              {"normalise", normalise},
                              {"audit", "true"},
                              {"batch", "4"},
                              {"micro_batches", "2"},
                              {"steps", "4"}};
            if (*clip) settings["clip"] = clip;
            EXPECT_EQ(wrong_in(settings), "") << normalise << ", clip " << clip;
        }
    }
    EXPECT_EQ(wrong_in({{"average_in_collective", "true"},
                        {"normalise", "step"},
                        {"sample_tokens", "uneven"},
                        {"reference", "true"},
                        {"audit", "true"},
                        {"steps", "4"}}),
              "");
}

TEST(SettingsTogether, AComparisonWithAnotherTrainingIsRefused) {
    const Words uneven = {{"sample_tokens", "uneven"}, {"reference", "true"}};
    EXPECT_NE(refusal(uneven).find("normalise = \"samples\" does not: the control would differ from it — say "
                                   "normalise = \"step\""),
              std::string::npos)
        << refusal(uneven);
    EXPECT_NE(refusal({{"normalise", "rank"}, {"assert_equal", "true"}}), "");
    EXPECT_NE(refusal({{"pretrained", "true"}, {"reference", "true"}}).find("leave out one of them"),
              std::string::npos);
    EXPECT_EQ(refusal({{"sample_tokens", "uneven"}, {"normalise", "step"}, {"reference", "true"}}), "");
    EXPECT_EQ(refusal({{"normalise", "rank"}, {"sample_tokens", "uneven"}}), "");
    EXPECT_EQ(refusal({{"pretrained", "true"}}), "");
}

}  // namespace
}  // namespace deadrank
