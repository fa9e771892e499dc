// tests/checks_test.cpp — Goal: the checks can fail. A heal that heals nothing, a fault that had no effect,
// one of two faults without a moment: none of them passes. What the catalogue proves: proofs_test.cpp.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "results/reports/json_files.h"
#include "scenarios/format/plan_file.h"
#include "scenarios/format/scenario_file.h"
#include "scenarios/format/taxonomy_file.h"
#include "tests/support/catalog.h"

namespace deadrank {
namespace {

using results::Outcome;
using results::Verdict;

const scenarios::Taxonomy& shipped_words() {
    static const scenarios::Taxonomy taxonomy =
        scenarios::load_taxonomy(std::string(DEADRANK_SOURCE_DIRECTORY) + "/scenarios/taxonomy.toml").value();
    return taxonomy;
}

struct Sample {
    std::string cluster = "nodes = 2\n";
    std::string workload = "kind = \"data_parallel\"\n";
    std::string faults;
    std::string expect = "symptom = \"collective_deadlock_hang\"\nwithin = \"5m\"\n";
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
                                                    shipped_words(), words);
    EXPECT_TRUE(scenario) << (scenario ? "" : scenario.error().text());
    runners::SimRunner sim;
    return runners::play(scenario.value(), {1}, sim, words);
}

const std::string bend = "[[fault]]\nkind = \"bend_value\"\nrank = 3\n";
const std::string kill = "[[fault]]\nkind = \"kill_rank\"\nrank = 1\nwhen = { step = 3 }\n";

void expect_idle(const Sample& sample, std::string_view why) {
    const auto trial = played(sample);
    ASSERT_TRUE(trial.outcome.fault);
    EXPECT_EQ(trial.outcome.fault->verdict, Verdict::unknown) << trial.outcome.reason;
    EXPECT_EQ(trial.outcome.fault->outcome, Outcome::not_applied) << trial.outcome.reason;
    EXPECT_NE(trial.outcome.fault->reason.find(why), std::string::npos) << trial.outcome.fault->reason;
    const auto line = nlohmann::json::parse(results::reports::json_line(trial.outcome));
    EXPECT_EQ(line["verdict"], "unknown");
    EXPECT_EQ(line["outcome"], "not_applied");
}

TEST(AFaultWithoutEffect, IsUnknownAndSaysWhatNobodyRead) {
    expect_idle({.faults = bend + "seam = \"checkpoint.step\"\nadd = 1\n"},
                "nothing read checkpoint.step after bend_value");
    expect_idle({.faults = "[[fault]]\nkind = \"skip_block\"\nrank = 3\nblock = \"checkpoint.sync\"\n"},
                "nothing read checkpoint.sync after skip_block");
    expect_idle({.faults = "[[fault]]\nkind = \"set_env\"\nrank = 3\nname = \"FOO\"\nvalue = \"bar\"\n"},
                "nothing read FOO after set_env");
    expect_idle(
        {.faults = "[[fault]]\nkind = \"skew_version\"\nrank = 3\npackage = \"apex\"\nversion = \"1\"\n"},
        "nothing read apex after skew_version");
}

TEST(AFaultWithoutEffect, IsUnknownWhereItCameAfterTheLastReading) {
    expect_idle({.faults = bend + "seam = \"startup.world_size\"\nset = 4\nwhen = { step = 5 }\n"},
                "it was last asked for at startup.world_size before the first step");
}

TEST(AFaultWithoutEffect, IsUnknownWhereNothingOfTheRunDiffers) {
    expect_idle({.faults = bend + "seam = \"sampler.seed\"\nadd = 0\n"}, "the run equals its control");
}

// Goal: what a fault left in the traces alone is not held against the detectors; a rank that takes more time
// or memory, or whose calls no longer match its peers', is.
TEST(AFaultWithoutEffect, IsUnknownWhereTracesAloneDiffer) {
    const std::string loaders = "kind = \"fsdp\"\nread_data = true\nloader_workers = 6\n";
    const auto bent = [&](std::string_view workers) {
        return bend + "seam = \"loader.workers\"\nset = " + std::string(workers) + "\n";
    };
    expect_idle({.workload = loaders, .faults = bent("2")},
                "no more time or memory; only memory.sample differ");
    EXPECT_EQ(played({.workload = loaders, .faults = bent("7")}).outcome.fault->outcome, Outcome::silent);
}

// Goal: a limit that nothing comes near is no effect, though samples of the machine show another number.
TEST(AFaultWithoutEffect, IsUnknownWhereALimitIsNeverMet) {
    expect_idle({.faults = "[[fault]]\nkind = \"limit_host\"\nnode = 1\nopen_files = 100000\n"},
                "no more time or memory; only host.sample differ");
    EXPECT_NE(played({.faults = "[[fault]]\nkind = \"limit_host\"\nnode = 1\nopen_files = 8\n"})
                  .outcome.fault->outcome,
              Outcome::not_applied);
}

// Goal: a metric has a value, so that gathers which one rank makes in another order show.
TEST(GathersOfMetrics, ThatChangePlacesShowInTheirValues) {
    const auto trial = played(
        {.faults = "[[fault]]\nkind = \"bend_value\"\nrank = \"all\"\nseam = \"metric.gathers\"\nset = 3\n"
                   "[[fault]]\nkind = \"reorder_collective\"\nrank = 2\n"
                   "when = { step = 1, before = \"all_gather\" }\n",
         .expect = "symptom = \"wrong_intermediate_value\"\nwithin = \"1m\"\n"});
    EXPECT_EQ(trial.outcome.fault->outcome, Outcome::caught) << trial.outcome.fault->reason;
    EXPECT_EQ(trial.outcome.fault->findings.front().blame.step, 1);
}

TEST(AFaultWithoutEffect, IsRefusedWhereItTakesAwayWhatIsNotThere) {
    const auto trial =
        played({.faults = "[[fault]]\nkind = \"unset_env\"\nrank = 3\nname = \"NCCL_ALGO\"\n"});
    EXPECT_EQ(trial.outcome.verdict, Verdict::unknown);
    EXPECT_NE(trial.outcome.reason.find("NCCL_ALGO is not set on rank 3"), std::string::npos)
        << trial.outcome.reason;
}

TEST(OneOfTwoFaults, WithoutAMomentMakesTheRunUnknown) {
    expect_idle({.faults = kill + "[[fault]]\nkind = \"kill_rank\"\nrank = 2\n"
                                  "when = { step = 2, before = \"all_gather\" }\n"},
                "fault 2: the `when` of kill_rank was never met; the nearest moment was");
}

TEST(Heal, ThatHealsNothingFails) {
    Sample sample{.cluster = "nodes = 2\nlauncher = \"bare\"\nwatchdog = false\n", .faults = kill};
    sample.heal = "fault = \"keep\"\n[heal.cluster]\nenvironment = { FOO = \"bar\" }\n";
    const auto silent = played(sample);
    EXPECT_EQ(silent.outcome.fault->verdict, Verdict::pass) << silent.outcome.fault->reason;
    EXPECT_EQ(silent.outcome.healed->verdict, Verdict::fail) << silent.outcome.healed->reason;
    // The same alarm, expected of the healed run: then it is the faulty run that gives the heal away.
    sample.heal +=
        "[heal.expect]\nsymptom = \"collective_deadlock_hang\"\nreaction = \"any\"\nwithin = \"5m\"\n";
    const auto ringing = played(sample);
    EXPECT_EQ(ringing.outcome.healed->outcome, Outcome::heals_nothing) << ringing.outcome.healed->reason;
    EXPECT_EQ(ringing.outcome.verdict, Verdict::fail);
}

TEST(Heal, ThatMakesTheJobEndWithAClearErrorPasses) {
    Sample sample{.cluster = "nodes = 2\nlauncher = \"bare\"\nwatchdog = false\n", .faults = kill};
    sample.heal =
        "fault = \"keep\"\n[heal.cluster]\nlauncher = \"torchrun\"\n[heal.expect]\n"
        "symptom = \"native_crash_or_illegal_access\"\nblames = [\"rank\"]\nreaction = \"clear_error\"\n"
        "within = \"30s\"\n";
    const auto trial = played(sample);
    EXPECT_EQ(trial.outcome.healed->verdict, Verdict::pass) << trial.outcome.healed->reason;
    EXPECT_EQ(trial.outcome.healed->outcome, Outcome::caught);
}

TEST(Heal, ThatIsTheControlAgainIsCalledSo) {
    const auto trial =
        played({.cluster = "nodes = 2\nlauncher = \"bare\"\nwatchdog = false\n", .faults = kill});
    EXPECT_EQ(trial.outcome.healed->verdict, Verdict::pass);
    EXPECT_EQ(trial.outcome.healed->outcome, Outcome::as_control);
}

// Goal: a communicator that was never made ends the job in the words that the framework has for it, and no
// promise of our own is broken.
TEST(AGroupThatWasNeverMade, EndsTheJobAndNotTheProgram) {
    Sample sample{.workload = "kind = \"tensor_parallel\"\ntp_size = 4\n"};
    sample.faults =
        "[[fault]]\nkind = \"skip_collective\"\nrank = 3\nwhen = { before = \"comm_init\", comm = \"dp\" }\n";
    const auto trial = played(sample);
    ASSERT_TRUE(trial.fault) << trial.outcome.reason;
    EXPECT_NE(trial.outcome.verdict, Verdict::pass);
}

// Goal: nobody who waited for clients is blamed for those who died on their way to the store.
TEST(ARendezvous, BlamesThoseWhoNeverCame) {
    Sample sample{.cluster = "nodes = 3\nlauncher = \"bare\"\n"};
    sample.faults =
        "[[fault]]\nkind = \"kill_rank\"\nrank = \"node 2\"\nwhen = { before = \"rendezvous\" }\n";
    sample.expect = "symptom = \"communication_setup_failure\"\nblames = [\"rank\"]\nwithin = \"10m\"\n";
    const auto trial = played(sample);
    EXPECT_EQ(trial.outcome.fault->outcome, Outcome::caught) << trial.outcome.fault->reason;
}

// Goal: a client tells of a time-out soon after it, however long that is: what comes on top is one pause.
TEST(ARendezvous, TellsOfATimeOutSoonAfterIt) {
    Sample sample{.workload = "kind = \"data_parallel\"\nstore_timeout = \"1m\"\n"};
    sample.cluster = "nodes = 2\nlauncher = \"bare\"\n";
    sample.faults = "[[fault]]\nkind = \"set_env\"\nrank = 5\nname = \"MASTER_PORT\"\nvalue = \"29417\"\n";
    const auto trial = played(sample);
    ASSERT_TRUE(trial.fault);
    for (const results::Event* event : trial.fault->record.evidence.each<results::RankExit>()) {
        if (event->rank != 5) continue;
        EXPECT_LT(event->at, std::chrono::seconds(70));
    }
}

// Goal: parameters that stage 3 let go and nobody gathered again are missed in backward.
TEST(ParametersThatWereNotGathered, EndTheJob) {
    Sample sample{.workload = "kind = \"zero\"\nstage = 3\n"};
    sample.faults = "[[fault]]\nkind = \"skip_block\"\nrank = \"all\"\nblock = \"parameter.gather\"\n";
    const auto trial = played(sample);
    ASSERT_TRUE(trial.fault);
    EXPECT_TRUE(results::ended_with_error(trial.outcome.fault->job.reaction));
}

// Goal: a setting that a workload never looks at is refused on paper.
TEST(AnIgnoredSetting, IsRefused) {
    Sample sample{.workload = "kind = \"pipeline\"\ncheckpoint_every = 3\n", .faults = kill};
    const auto scenario = scenarios::parse_scenario(toml_of(sample), "catalog/communication/sample.toml",
                                                    shipped_words(), runners::vocabulary());
    ASSERT_FALSE(scenario);
    EXPECT_NE(scenario.error().text().find("unknown key 'checkpoint_every'"), std::string::npos)
        << scenario.error().text();
}

std::string refusal_of(const Sample& sample) {
    const scenarios::Vocabulary words = runners::vocabulary();
    const auto scenario = scenarios::parse_scenario(toml_of(sample), "catalog/communication/sample.toml",
                                                    shipped_words(), words);
    EXPECT_TRUE(scenario) << (scenario ? "" : scenario.error().text());
    const auto trial = scenarios::resolve(*scenario, {1}, runners::SimRunner().capabilities(), words);
    return trial ? "" : trial.error().text();
}

// Goal: a moment that never comes is refused on paper, with the workloads in which it does.
TEST(APhase, ThatItsWorkloadNeverEntersIsRefused) {
    const auto refusal = [](const std::string& workload, const std::string& phase) {
        Sample sample{.workload = workload};
        sample.faults =
            fmt::format("[[fault]]\nkind = \"kill_rank\"\nrank = 1\nwhen = {{ phase = \"{}\" }}\n", phase);
        return refusal_of(sample);
    };
    const std::string backward = refusal("kind = \"pipeline\"\n", "backward");
    EXPECT_NE(
        backward.find("pipeline has no phase backward; its phases are data, forward, reduce, optimizer"),
        std::string::npos)
        << backward;
    EXPECT_NE(backward.find("data_parallel, zero, expert_parallel, fsdp and elastic have it"),
              std::string::npos)
        << backward;
    EXPECT_EQ(refusal("kind = \"zero\"\n", "backward"), "");
    EXPECT_NE(refusal("kind = \"zero\"\n", "checkpoint")
                  .find("zero never enters phase checkpoint without checkpoint_every or checkpoint_interval"),
              std::string::npos);
    EXPECT_EQ(refusal("kind = \"zero\"\ncheckpoint_every = 2\n", "checkpoint"), "");
    EXPECT_NE(refusal("kind = \"zero\"\n", "setup").find("elastic has it"), std::string::npos);
}

// Goal: so is a cut that leaves a rest.
TEST(Rounds, ThatDoNotDivideTheMicroBatchesAreRefused) {
    const auto refusal = [](const std::string& rounds) {
        return refusal_of({.workload = "kind = \"pipeline\"\nrounds = " + rounds + "\n", .faults = kill});
    };
    EXPECT_NE(refusal("3").find("rounds = 3 does not divide micro_batches = 8"), std::string::npos);
    EXPECT_EQ(refusal("4"), "");
}

TEST(UnevenMicroBatches, ThatCannotGoInPairsAreRefused) {
    const auto refusal = [](const std::string& cut) {
        return refusal_of(
            {.workload = "kind = \"pipeline\"\nuneven_micro_batches = true\n" + cut, .faults = kill});
    };
    EXPECT_NE(refusal("").find("8 parts of 1 cannot differ in pairs"), std::string::npos) << refusal("");
    EXPECT_NE(refusal("batch = 24\nrounds = 8\n").find("1 parts of 3"), std::string::npos);
    EXPECT_EQ(refusal("batch = 24\nrounds = 4\n"), "");
}

// Goal: a run in rounds equals its reference, and a bend between them shows, as does what they forget.
TEST(Rounds, ShowWhatHappensBetweenThem) {
    Sample sample{.workload = "kind = \"pipeline\"\npp_size = 2\nrounds = 2\nreference = true\n"};
    sample.expect = "symptom = \"parallel_result_mismatch\"\nblames = []\nwithin = \"1m\"\n";
    for (const char* fault :
         {"kind = \"bend_value\"\nseam = \"round.divisor\"\nset = 1000\nwhen = { step = 2, "
          "before = \"round.divisor\", nth = 1 }\n",
          "kind = \"skip_block\"\nblock = \"round.accumulate\"\n"}) {
        sample.faults = std::string("[[fault]]\nrank = \"all\"\n") + fault;
        const auto trial = played(sample);
        EXPECT_EQ(trial.outcome.verdict, Verdict::pass) << fault << trial.outcome.reason;
    }
}

// Goal: who has ended all steps stays for the others, and who takes one step more is told from them.
TEST(AnExitBarrier, KeepsThoseWhoAreDoneUntilAllAre) {
    Sample sample{.cluster = "nodes = 4\ngpus_per_node = 1\nlauncher = \"bare\"\nwatchdog = false\n",
                  .workload = "kind = \"data_parallel\"\nexit_barrier = true\nsteps = 6\n"};
    sample.expect = "symptom = \"collective_deadlock_hang\"\nblames = [\"rank\"]\nwithin = \"3m\"\n";
    sample.faults = bend + "seam = \"sampler.steps\"\nadd = 1\n";
    const auto trial = played(sample);
    EXPECT_EQ(trial.outcome.verdict, Verdict::pass) << trial.outcome.reason;
    ASSERT_TRUE(trial.fault);
    std::vector<results::Time> ends;
    for (const results::Event* event : trial.fault->record.evidence.each<results::RankExit>())
        ends.push_back(event->at);
    ASSERT_EQ(ends.size(), 3u) << "rank 3 never comes back";
    EXPECT_GT(ends.front(), std::chrono::minutes(5)) << "the others gave up waiting for it";
}

TEST(ARendezvous, NeverSaysThatRanksWaitForThemselves) {
    Sample sample{.cluster = "nodes = 3\n"};
    sample.faults = "[[fault]]\nkind = \"break_store\"\nrank = \"node 2\"\nhow = \"mute\"\n";
    sample.expect = "symptom = \"communication_setup_hang\"\nblames = [\"rank\"]\nwithin = \"10m\"\n";
    const auto trial = played(sample);
    EXPECT_EQ(trial.outcome.fault->outcome, Outcome::caught) << trial.outcome.fault->reason;
    EXPECT_NE(
        trial.outcome.fault->reason.find("ranks 8-11 waited 60.0 s and longer in rendezvous and never got"),
        std::string::npos)
        << trial.outcome.fault->reason;
}

// Goal: an engine that may hold no request says so; nothing is set right behind the scenario's back.
TEST(AnEngineWithoutRoom, RefusesToServe) {
    Sample sample{.workload = "kind = \"serving\"\n"};
    sample.faults =
        "[[fault]]\nkind = \"bend_value\"\nrank = \"all\"\nseam = \"serving.in_flight\"\nset = 0\n";
    const auto trial = played(sample);
    ASSERT_TRUE(trial.fault) << trial.outcome.reason;
    EXPECT_TRUE(results::ended_with_error(trial.outcome.fault->job.reaction));
}

}  // namespace
}  // namespace deadrank
