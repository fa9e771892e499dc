// tests/scenarios/plan_toml_test.cpp — Goal: a plan's text reads back to the same plan, and an edited one is
// checked like any file.
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

#include "scenarios/format/plan_file.h"
#include "tests/scenarios/sample.h"

namespace deadrank::tests {
namespace {

using scenarios::parse_plan;
using scenarios::Plan;
using scenarios::to_toml;

scenarios::Result<Plan> read(std::string_view toml) {
    return parse_plan(toml, "plan.toml", sample_taxonomy(), sample_vocabulary());
}

SampleFile rich_file() {
    SampleFile file;
    file.cluster =
        "nodes = [2, 4]\nenvironment = { \"odd key\" = \"a \\\"b\\\" \\\\ é\", N = 1 }\nlink = { latency = "
        "\"1us..9us\" }\n";
    file.fault =
        "kind = \"kill_rank\"\nrank = \"any 2\"\nwhen = { step = \"1..3\", before = \"send\", comm = \"tp\", "
        "nth = 2, always = true, "
        "until_step = 5, lasts = \"3s\" }\n";
    file.more_faults =
        "[[fault]]\nkind = \"set_env\"\nrank = \"others\"\nname = \"A\"\nvalue = \"\"\n[[fault]]\nkind = "
        "\"slow_link\"\n"
        "node = \"any\"\nfactor = \"1.5x\"\nhardware = true\nwhen = { at = \"1500us\" }\n";
    file.expect =
        "blames = [\"rank\"]\nranks = [1, 2]\nstep = 3\nrecovers_within = \"5m\"\nunseen = \"why\"\nalso = "
        "[\"collective_timeout_abort\"]\n";
    return file;
}

std::string edited(std::string toml, std::string_view what, std::string_view into) {
    const auto at = toml.find(what);
    EXPECT_NE(at, std::string::npos) << what;
    return at == std::string::npos ? toml : toml.replace(at, what.size(), into);
}

std::string plan_refusal(std::string_view toml) {
    const auto plan = read(toml);
    return plan ? "reads" : plan.error().text();
}

TEST(PlanToml, ReadsBackToTheSamePlanAndTheSameBytes) {
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        const auto trial = resolve_sample(rich_file(), seed);
        ASSERT_TRUE(trial) << trial.error().text();
        for (const Plan& plan : {trial->fault, trial->control, trial->healed}) {
            const auto back = read(to_toml(plan));
            ASSERT_TRUE(back) << back.error().text() << "\n" << to_toml(plan);
            EXPECT_EQ(*back, plan);
            EXPECT_EQ(to_toml(*back), to_toml(plan));
        }
    }
}

TEST(PlanToml, KeepsEverySymptomThatAnswers) {
    SampleFile file;
    file.expect = "symptom = [\"checkpoint_save_failure\", \"host_resource_exhaustion\"]\n";
    file.heal += "[heal.expect]\nsymptom = [\"loss_nan_or_divergence\", \"wrong_intermediate_value\"]\n";
    const auto trial = resolve_sample(file);
    ASSERT_TRUE(trial) << trial.error().text();
    EXPECT_EQ(trial->healed.expect.symptom_text(), "loss_nan_or_divergence or wrong_intermediate_value");
    for (const Plan& plan : {trial->fault, trial->healed}) {
        const auto back = read(to_toml(plan));
        ASSERT_TRUE(back) << back.error().text() << "\n" << to_toml(plan);
        EXPECT_EQ(*back, plan);
    }
    file.expect = "symptom = \"checkpoint_save_failure\"\n";
    EXPECT_NE(scenarios::digest(resolve_sample(file)->fault), scenarios::digest(trial->fault));
}

TEST(PlanToml, KeepsTheLargestSeed) {
    Plan plan = resolve_sample({})->fault;
    plan.seed.number = UINT64_MAX;
    EXPECT_EQ(read(to_toml(plan))->seed.number, UINT64_MAX);
}

TEST(PlanToml, KeepsTheSettingThatDiffersPerRank) {
    Plan plan = resolve_sample({})->fault;
    EXPECT_EQ(to_toml(plan).find("per_rank"), std::string::npos);
    plan.bug.per_rank = "sampler.seed";
    EXPECT_EQ(read(to_toml(plan))->bug.per_rank, "sampler.seed");
}

TEST(PlanToml, HasADigestThatEveryValueMoves) {
    const Plan plan = resolve_sample({})->fault;
    EXPECT_EQ(scenarios::digest(plan).size(), 16u);
    Plan other = plan;
    other.workload["step_time"].number += 1;
    EXPECT_NE(scenarios::digest(plan), scenarios::digest(other));
    other = plan;
    other.seed.number += 1;
    EXPECT_NE(scenarios::digest(plan), scenarios::digest(other));
}

TEST(PlanToml, RefusesWhatIsLeftToChance) {
    const std::string toml = to_toml(resolve_sample({})->fault);
    EXPECT_NE(plan_refusal(edited(toml, "nodes = 2", "nodes = [2, 4]"))
                  .find("'nodes' is left to chance — a plan states one value"),
              std::string::npos);
    EXPECT_NE(plan_refusal(edited(toml, "step = 3,", "step = \"3..4\",")).find("'step' is left to chance"),
              std::string::npos);
    const auto rank = toml.find("rank = [");
    std::string open = toml;
    open.replace(rank, toml.find('\n', rank) - rank, "rank = \"any\"");
    EXPECT_NE(plan_refusal(open).find("'rank' is left to chance"), std::string::npos);
}

TEST(PlanToml, RefusesWhatIsNotStated) {
    const std::string toml = to_toml(resolve_sample({})->fault);
    EXPECT_EQ(
        plan_refusal(edited(toml, "link.latency = \"5us\"\n", "")),
        "plan.toml:1:1: [cluster] lacks 'link.latency' — a plan states every value; the default is 5us");
    EXPECT_NE(plan_refusal(edited(toml, "steps = 10\n", "")).find("[workload] lacks 'steps'"),
              std::string::npos);
    EXPECT_NE(plan_refusal(edited(toml, "signal = 9\n", "")).find("kill_rank lacks 'signal'"),
              std::string::npos);
    EXPECT_NE(plan_refusal(edited(toml, "seed = \"1\"\n", "")).find("[plan] lacks a seed from 0 to 2^64 - 1"),
              std::string::npos);
    EXPECT_NE(
        plan_refusal(edited(toml, "seed = \"1\"", "seed = \"18446744073709551616\"")).find("lacks a seed"),
        std::string::npos);
    EXPECT_NE(
        plan_refusal(edited(toml, "variant = \"fault\"", "variant = \"falt\"")).find("did you mean 'fault'?"),
        std::string::npos);
}

TEST(PlanToml, RefusesContradictionsAsAScenarioDoes) {
    const std::string toml =
        to_toml(resolve_sample({.fault = "kind = \"kill_rank\"\nrank = 7\nwhen = { step = 3 }\n"})->fault);
    EXPECT_EQ(plan_refusal(edited(toml, "rank = [7]", "rank = [8]")),
              "plan.toml: fault.0.rank: rank 8 is outside the cluster — it has ranks 0 to 7");
    EXPECT_EQ(plan_refusal(edited(toml, "step = 3", "step = 11")),
              "plan.toml: fault.0.when.step: step 11 is after the end — the workload has steps 0 to 9");
}

TEST(PlanToml, TellsAScenarioFromAPlan) {
    EXPECT_NE(
        plan_refusal(SampleFile{}.toml())
            .find(
                "there is no [plan] — a scenario becomes a plan by `deadrank replay plan SCENARIO --seed N`"),
        std::string::npos);
}

TEST(PlanToml, LoadsFromAFile) {
    const auto file = std::filesystem::path(testing::TempDir()) / "deadrank_plan_test.toml";
    const Plan plan = resolve_sample(rich_file(), 5)->healed;
    std::ofstream(file) << to_toml(plan);
    EXPECT_EQ(scenarios::load_plan(file, sample_taxonomy(), sample_vocabulary()).value(), plan);
    std::filesystem::remove(file);
    EXPECT_EQ(scenarios::load_plan(file, sample_taxonomy(), sample_vocabulary()).error().code,
              scenarios::ErrorCode::io);
}

}  // namespace
}  // namespace deadrank::tests
