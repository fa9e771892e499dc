// tests/program_contracts_test.cpp — Goal: what a program checks, how its checkpoints name things, how long
// its loader takes and how it averages are contracts that can be broken, and the break is told from a run in
// which they hold.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "scenarios/format/scenario_file.h"
#include "scenarios/format/taxonomy_file.h"
#include "tests/support/catalog.h"

namespace deadrank::contracts {
namespace {

using results::Outcome;
using results::Verdict;

const scenarios::Taxonomy& words_of_bugs() {
    static const scenarios::Taxonomy taxonomy =
        scenarios::load_taxonomy(std::string(DEADRANK_SOURCE_DIRECTORY) + "/scenarios/taxonomy.toml").value();
    return taxonomy;
}

struct Sample {
    std::string cluster = "nodes = 2\n";
    std::string workload = "kind = \"data_parallel\"\n";
    std::string faults;
    std::string expect;
    std::string heal = "fault = \"none\"\n";
};

std::string toml_of(const Sample& sample) {
    return fmt::format(
        "# A story.\nformat = 1\n[bug]\nstage = \"communication\"\nsymptom = \"collective_deadlock_hang\"\n"
        "cause = \"unpropagated_rank_failure\"\nfix = \"validation_and_failure_handling\"\n"
        "[cluster]\n{}\n[workload]\n{}\n{}\n[expect]\n{}\n[heal]\n{}",
        sample.cluster, sample.workload, sample.faults, sample.expect, sample.heal);
}

runners::Trialled played(const Sample& sample) {
    const scenarios::Vocabulary words = runners::vocabulary();
    const auto scenario = scenarios::parse_scenario(toml_of(sample), "catalog/communication/sample.toml",
                                                    words_of_bugs(), words);
    EXPECT_TRUE(scenario) << (scenario ? "" : scenario.error().text());
    runners::SimRunner sim;
    return runners::play(scenario.value(), {1}, sim, words);
}

// Goal: a check of the program raises on the ranks whose value it refuses, in its own words, and nowhere
// else.
TEST(ACheckOfTheProgram, RaisesWhereItRefusesTheValue) {
    Sample sample{.faults =
                      "[[fault]]\nkind = \"refuse_value\"\nrank = \"all\"\nchecks = \"sampler.shard\"\n"
                      "refuses = \"above\"\nthan = 6\nsays = \"ValueError: no shard {value} of {than}\"\n",
                  .expect =
                      "symptom = \"framework_runtime_exception\"\nrank = 7\nblames = [\"rank\"]\n"
                      "within = \"1m\"\n",
                  .heal = "fault = \"keep\"\n[[heal.change]]\nthan = 7\n"};
    const auto trial = played(sample);
    EXPECT_EQ(trial.outcome.verdict, Verdict::pass) << trial.outcome.reason;
    EXPECT_NE(trial.outcome.fault->findings.front().says.find("no shard 7 of 6"), std::string::npos);
    sample.heal = "fault = \"keep\"\n[heal.workload]\nbatch = 3\n";
    EXPECT_EQ(played(sample).outcome.verdict, Verdict::fail) << "another setting does not move the value";
}

TEST(ACheckOfTheProgram, ComparesSettingsBeforeAllElse) {
    Sample sample{.workload = "kind = \"data_parallel\"\nbatch = 4\nmicro_batches = 2\n",
                  .faults =
                      "[[fault]]\nkind = \"refuse_value\"\nrank = \"all\"\nchecks = \"setting.ranks\"\n"
                      "refuses = \"above\"\nagainst = \"setting.batch\"\n",
                  .expect =
                      "symptom = \"framework_runtime_exception\"\nblames = []\nwithin = \"1m\"\n"
                      "reaction = \"refuse_to_start\"\n",
                  .heal = "fault = \"keep\"\n[heal.workload]\nbatch = 8\n"};
    const auto trial = played(sample);
    EXPECT_EQ(trial.outcome.verdict, Verdict::pass) << trial.outcome.reason;
    sample.faults += "says = \"ValueError\"\n";
    sample.faults.replace(sample.faults.find("above"), 5, "below");
    const auto idle = played(sample);
    EXPECT_EQ(idle.outcome.fault->outcome, Outcome::not_applied) << idle.outcome.fault->reason;
}

TEST(ACheckOfTheProgram, IsRefusedWhereItLooksAtNothing) {
    const std::string fault = "[[fault]]\nkind = \"refuse_value\"\nrank = 0\nchecks = ";
    for (const char* nothing :
         {"\"setting.batches\"", "\"sampler.shart\"", "\"setting.batch\"\nagainst = \"sampler.shard\""}) {
        const auto scenario = scenarios::parse_scenario(toml_of({.faults = fault + nothing + "\n"}),
                                                        "catalog/communication/sample.toml", words_of_bugs(),
                                                        runners::vocabulary());
        ASSERT_FALSE(scenario) << nothing;
        EXPECT_NE(scenario.error().text().find("there is no se"), std::string::npos) << nothing;
    }
}

// Goal: names of keys are a contract; a load that is strict refuses another one, and one that is not goes on
// with fresh numbers, which shows at the step that is made again.
Sample resumed(std::string_view keys, std::string_view faults, std::string_view symptom) {
    return {.cluster = "nodes = 2\nrestarts_max = 1\n",
            .workload = fmt::format("kind = \"data_parallel\"\nsteps = 8\ncheckpoint_every = 2\n"
                                    "optimizer_steps = true\ncheckpoint_keys = \"{}\"\n",
                                    keys),
            .faults = fmt::format("{}[[fault]]\nkind = \"kill_rank\"\nprovokes = true\nrank = 1\n"
                                  "when = {{ step = 5 }}\n",
                                  faults),
            .expect = fmt::format("symptom = \"{}\"\nblames = []\nwithin = \"2m\"\n"
                                  "also = [\"native_crash_or_illegal_access\", "
                                  "\"restart_or_recovery_failure\"]\n",
                                  symptom),
            .heal = "fault = \"none\"\n"};
}

Outcome of_resumed(std::string_view keys, std::string_view faults, std::string_view symptom) {
    const auto trial = played(resumed(keys, faults, symptom));
    return trial.outcome.fault ? trial.outcome.fault->outcome : Outcome::not_applied;
}

TEST(AStateUnderKeys, IsAContractBetweenWriterAndReader) {
    const auto bent = [](std::string_view seam) {
        return fmt::format("[[fault]]\nkind = \"bend_value\"\nrank = \"all\"\nseam = \"{}\"\nset = 1\n",
                           seam);
    };
    for (const char* seam : {"checkpoint.prefix", "checkpoint.load_prefix", "checkpoint.first_key",
                             "checkpoint.load_first_key", "checkpoint.keys"}) {
        EXPECT_EQ(of_resumed("strict", bent(seam), "reshard_restore_failure"), Outcome::caught) << seam;
        EXPECT_EQ(of_resumed("lenient", bent(seam), "resume_state_regression"), Outcome::caught) << seam;
    }
    // Both agree: nothing is wrong with it, and only the kill is left to report.
    for (const char* keys : {"strict", "lenient"}) {
        const auto both = bent("checkpoint.prefix") + bent("checkpoint.load_prefix");
        EXPECT_EQ(of_resumed(keys, both, "native_crash_or_illegal_access"), Outcome::caught) << keys;
    }
}

TEST(AStateUnderKeys, MayLackTheOptimizers) {
    const std::string skipped =
        "[[fault]]\nkind = \"skip_block\"\nrank = \"all\"\nblock = \"checkpoint.optimizer\"\n";
    EXPECT_EQ(of_resumed("lenient", skipped, "resume_state_regression"), Outcome::caught);
    const auto trial = played(resumed("strict", skipped, "framework_runtime_exception"));
    EXPECT_NE(trial.outcome.fault->reason, "") << "it raises a KeyError";
}

// Goal: what the workers of a loader cannot share out shows in the time of a step, and nothing shows where
// they are quick enough to be ready before the model is.
Outcome of_loader(std::string_view time, std::string_view seam, int set) {
    const auto trial =
        played({.workload = fmt::format(
                    "kind = \"data_parallel\"\nsteps = 12\nloader_workers = 4\nloader_time = \"{}\"\n"
                    "expected_step_time = \"110ms\"\n",
                    time),
                .faults = fmt::format(
                    "[[fault]]\nkind = \"bend_value\"\nrank = \"all\"\nseam = \"{}\"\nset = {}\n", seam, set),
                .expect = "symptom = \"low_throughput_uniform\"\nblames = []\nwithin = \"1m\"\n"});
    return trial.outcome.fault->outcome;
}

TEST(ALoader, CostsTimeWhereItsWorkersAreTooFewOrReadTooMuch) {
    EXPECT_EQ(of_loader("160ms", "loader.busy", 1), Outcome::caught);
    EXPECT_EQ(of_loader("160ms", "loader.reads", 4), Outcome::caught);
    EXPECT_NE(of_loader("10ms", "loader.busy", 2), Outcome::caught) << "ready before the step before is over";
}

// Goal: a loss of an evaluation is a sum by a count; means of means and sums of sums are other numbers,
// unless all batches are alike.
Outcome of_evaluation(std::string_view seam, int set, int samples) {
    const auto trial =
        played({.workload = fmt::format("kind = \"data_parallel\"\nsteps = 4\nevaluate_every = 2\n"
                                        "evaluation_samples = {}\n",
                                        samples),
                .faults = fmt::format(
                    "[[fault]]\nkind = \"bend_value\"\nrank = \"all\"\nseam = \"{}\"\nset = {}\n", seam, set),
                .expect = "symptom = \"wrong_intermediate_value\"\nblames = []\nwithin = \"1m\"\n"});
    return trial.outcome.fault->outcome;
}

TEST(AnEvaluation, IsASumByACount) {
    EXPECT_EQ(of_evaluation("evaluation.formula", 1, 27), Outcome::caught);
    EXPECT_EQ(of_evaluation("evaluation.reductions", 2, 32), Outcome::caught);
    EXPECT_NE(of_evaluation("evaluation.formula", 1, 32), Outcome::caught) << "batches that are all alike";
}

}  // namespace
}  // namespace deadrank::contracts
