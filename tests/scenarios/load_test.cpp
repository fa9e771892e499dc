// tests/scenarios/load_test.cpp — Goal: everything a file says arrives in the Scenario, in whichever of its
// forms it is written.
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

#include "scenarios/format/scenario_file.h"
#include "tests/scenarios/sample.h"

namespace deadrank::tests {
namespace {

using scenarios::Scenario;
using scenarios::Setting;

Scenario loaded(const SampleFile& file) {
    auto scenario = load_sample(file.toml());
    EXPECT_TRUE(scenario) << scenario.error().text();
    return scenario.value_or(Scenario{});
}

TEST(Load, ReadsEveryTable) {
    SampleFile file;
    file.expect =
        "blames = [\"rank\", \"step\"]\nrank = 3\nstep = 4\nwithin = \"30s\"\nalso = "
        "[\"collective_timeout_abort\"]\n"
        "reaction = \"clear_error\"\nrecovers_within = \"5m\"\n";
    file.heal =
        "fault = \"keep\"\nsays = \"it waits\"\nworkaround = \"no fix is known\"\n[heal.cluster]\nwatchdog = "
        "true\n[heal.workload]\nvalidate = "
        "true\n"
        "[teach]\ntitle = \"t\"\nsees = \"s\"\nquestion = \"q\"\nhints = [\"1\", \"2\"]\nanswer = \"a\"\nwhy "
        "= \"w\"\n"
        "[parity]\nlocal = \"gloo says less\"\n";
    const Scenario scenario = loaded(file);
    EXPECT_EQ(scenario.id, "communication/sample");
    EXPECT_EQ(scenario.story, "A story.");
    EXPECT_EQ(scenario.digest.size(), 16u);
    EXPECT_EQ(scenario.bug.cause, "unpropagated_rank_failure");
    EXPECT_EQ(scenario.bug.replays, (std::vector<std::string>{"owner/repo#1"}));
    EXPECT_EQ(scenario.workload_kind, "data_parallel");
    ASSERT_EQ(scenario.faults.size(), 1u);
    EXPECT_EQ(scenario.faults[0].kind, "kill_rank");
    EXPECT_EQ(scenario.expect.symptom, "collective_deadlock_hang");  // the bug's own
    EXPECT_EQ(scenario.expect.ranks, (std::vector<std::int64_t>{3}));
    EXPECT_EQ(scenario.expect.step, 4);
    EXPECT_EQ(scenario.expect.within, 30'000'000'000);
    EXPECT_EQ(scenario.expect.also, (std::vector<std::string>{"collective_timeout_abort"}));
    EXPECT_EQ(scenario.expect.reaction, scenarios::WantedReaction::clear_error);
    EXPECT_EQ(scenario.expect.recovers_within, 300'000'000'000);
    ASSERT_EQ(scenario.heal.faults.size(), 1u);
    EXPECT_TRUE(scenario.heal.faults[0].kept);
    EXPECT_EQ(scenario.heal.cluster.count("watchdog"), 1u);
    EXPECT_EQ(scenario.heal.workload.count("validate"), 1u);
    EXPECT_EQ(scenario.heal.workaround, "no fix is known");
    EXPECT_FALSE(scenario.faults[0].hardware);
    EXPECT_EQ(scenario.teach.hints.size(), 2u);
    EXPECT_EQ(scenario.parity.at("local"), "gloo says less");
}

TEST(Load, TakesADefectOfAMachine) {
    SampleFile file;
    file.fault = "kind = \"kill_rank\"\nrank = 3\nhardware = true\nwhen = { step = 1 }\n";
    EXPECT_TRUE(loaded(file).faults.at(0).hardware);
    EXPECT_TRUE(resolve_sample(file)->fault.faults.at(0).hardware);
}

TEST(Load, TakesATableInEachOfItsTomlForms) {
    for (const char* form : {"link = { latency = \"7us\", bandwidth = \"1Gbps\" }\n",
                             "link.latency = \"7us\"\nlink.bandwidth = \"1Gbps\"\n",
                             "[cluster.link]\nlatency = \"7us\"\nbandwidth = \"1Gbps\"\n"}) {
        SampleFile file;
        file.cluster = form;
        const Scenario scenario = loaded(file);
        ASSERT_EQ(scenario.cluster.count("link.latency"), 1u) << form;
        EXPECT_EQ(scenario.cluster.at("link.latency").options.at(0).number, 7'000);
        EXPECT_EQ(scenario.cluster.at("link.bandwidth").options.at(0).number, 1'000'000'000);
    }
    SampleFile file;
    file.fault = "kind = \"kill_rank\"\nrank = 1\n[fault.when]\nstep = 2\n";
    EXPECT_EQ(loaded(file).faults.at(0).when.values.at("step").options.at(0).number, 2);
}

TEST(Load, ReadsOpenSettings) {
    SampleFile file;
    file.cluster =
        "nodes = [2, 4]\nenvironment = { A = \"x\", N = 1 }\nlink = { latency = [\"1us\", \"2us\"] }\n";
    file.workload =
        "kind = \"data_parallel\"\nsteps = \"6..9\"\nstep_time = \"1ms..5ms\"\nlearning_rate = 0.5\nschedule "
        "= [\"flat\", \"cosine\"]\n"
        "validate = [true, false]\n";
    file.fault = "kind = \"kill_rank\"\nrank = [[0, 1], [2, 3]]\nwhen = { step = \"1..3\" }\n";
    const Scenario scenario = loaded(file);
    EXPECT_EQ(scenario.cluster.at("nodes").options.size(), 2u);
    EXPECT_EQ(scenario.cluster.at("environment").options.at(0).table.at("N"), "1");
    const Setting& steps = scenario.workload.at("steps");
    ASSERT_TRUE(steps.range);
    EXPECT_EQ(steps.range->first.number, 6);
    EXPECT_EQ(steps.range->second.number, 9);
    EXPECT_EQ(scenario.workload.at("step_time").range->second.number, 5'000'000);
    EXPECT_EQ(scenario.workload.at("learning_rate").options.at(0).number, 500'000'000);
    EXPECT_EQ(scenario.workload.at("schedule").options.size(), 2u);
    EXPECT_EQ(scenario.faults.at(0).parameters.at("rank").options.at(1).list,
              (std::vector<std::int64_t>{2, 3}));
}

TEST(Load, TakesASelectorANumberOrAListOfRanks) {
    SampleFile file;
    file.fault = "kind = \"kill_rank\"\nrank = \"any 2 but 0\"\nwhen = { step = 1 }\n";
    EXPECT_EQ(loaded(file).faults.at(0).parameters.at("rank").selector, "any 2 but 0");
    file.fault = "kind = \"kill_rank\"\nrank = 3\nwhen = { step = 1 }\n";
    EXPECT_EQ(loaded(file).faults.at(0).parameters.at("rank").options.at(0).list,
              (std::vector<std::int64_t>{3}));
    file.fault = "kind = \"kill_rank\"\nrank = [5, 3]\nwhen = { step = 1 }\n";
    EXPECT_EQ(loaded(file).faults.at(0).parameters.at("rank").options.at(0).list,
              (std::vector<std::int64_t>{3, 5}));
}

TEST(Load, TakesOneSymptomOrAListOfThem) {
    SampleFile file;
    file.expect = "symptom = \"collective_timeout_abort\"\n";
    EXPECT_EQ(loaded(file).expect.symptom, "collective_timeout_abort");
    EXPECT_TRUE(loaded(file).expect.alternatives.empty());
    file.expect = "symptom = [\"checkpoint_save_failure\", \"host_resource_exhaustion\"]\n";
    const scenarios::Expectation several = loaded(file).expect;
    EXPECT_EQ(several.symptom, "checkpoint_save_failure");
    EXPECT_EQ(several.alternatives, (std::vector<std::string>{"host_resource_exhaustion"}));
    EXPECT_TRUE(several.is_answered_by("host_resource_exhaustion"));
    EXPECT_FALSE(several.is_answered_by("loss_nan_or_divergence"));
    EXPECT_EQ(several.symptom_text(), "checkpoint_save_failure or host_resource_exhaustion");
}

TEST(Load, TakesOthersAsNoneOrAsAListAndAlsoBesideIt) {
    SampleFile file;
    file.expect = "others = \"none\"\n";
    EXPECT_TRUE(loaded(file).expect.also.empty());
    file.expect = "others = \"none\"\nalso = [\"collective_timeout_abort\"]\n";
    EXPECT_EQ(loaded(file).expect.also, (std::vector<std::string>{"collective_timeout_abort"}));
    file.expect = "others = [\"collective_timeout_abort\"]\n";
    EXPECT_EQ(loaded(file).expect.also, (std::vector<std::string>{"collective_timeout_abort"}));
}

TEST(Load, MakesTheNameOfThePath) {
    const auto id = [](const char* path) {
        const auto scenario =
            scenarios::parse_scenario(SampleFile{}.toml(), path, sample_taxonomy(), sample_vocabulary());
        return scenario ? scenario->id : scenario.error().text();
    };
    EXPECT_EQ(id("/a/catalog/communication/lost.toml"), "communication/lost");
    EXPECT_EQ(id("catalog/mine/deep/lost.toml"), "mine/deep/lost");
    EXPECT_EQ(id("catalog/old/catalog/communication/lost.toml"), "communication/lost");
    EXPECT_EQ(id("elsewhere/lost.toml"), "elsewhere/lost");
    // What the seed draws depends on the name, and so not on how the path is typed.
    const auto here = std::filesystem::current_path();
    EXPECT_EQ(id("lost.toml"), here.filename().string() + "/lost");
    const std::vector<std::string> all = {"./lost.toml", "down/../lost.toml", (here / "lost.toml").string()};
    for (const std::string& typed : all) EXPECT_EQ(id(typed.c_str()), id("lost.toml")) << typed;
}

TEST(Load, TellsTheStoryOfTheOpeningComment) {
    const auto story = [](const std::string& opening) {
        const std::string text = SampleFile{}.toml();
        return load_sample(opening + text.substr(text.find("format"))).value().story;
    };
    EXPECT_EQ(story("# scenarios/catalog/a/b.toml\n# One.\n#   Two.\n"), "One. Two.");
    EXPECT_EQ(story("# scenarios/catalog/a/b.toml — One.\r\n# Two.\r\n"), "One. Two.");
    EXPECT_EQ(story("# One.\n#\n# Two.\n"), "One.\n\nTwo.");
    EXPECT_EQ(story(""), "");
}

TEST(LoadCatalog, KeepsWhatLoadsAndNamesEveryFlawOfTheRest) {
    const auto directory = std::filesystem::path(testing::TempDir()) / "deadrank_catalog_test" / "catalog";
    std::filesystem::remove_all(directory);
    std::filesystem::create_directories(directory / "communication");
    std::ofstream(directory / "communication/sound.toml") << SampleFile{}.toml();
    std::ofstream(directory / "communication/broken.toml") << "format = 1\nbgu = 1\n";
    std::ofstream(directory / "communication/notes.md") << "not a scenario";
    const auto catalog = scenarios::load_catalog(directory, sample_taxonomy(), sample_vocabulary());
    ASSERT_TRUE(catalog) << catalog.error().text();
    ASSERT_EQ(catalog->scenarios.size(), 1u);
    EXPECT_EQ(catalog->scenarios[0].id, "communication/sound");
    ASSERT_EQ(catalog->broken.size(), 5u);  // no [bug], [workload], [[fault]], [expect]; an unknown key
    EXPECT_EQ(catalog->broken.back().place.line, 2);
    std::filesystem::remove_all(directory.parent_path());
    EXPECT_FALSE(scenarios::load_catalog(directory, sample_taxonomy(), sample_vocabulary()));
}

}  // namespace
}  // namespace deadrank::tests
