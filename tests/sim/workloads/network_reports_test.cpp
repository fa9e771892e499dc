// tests/sim/workloads/network_reports_test.cpp — Goal: what bug reports tell of networks, hosts and gradients
// is judged as they tell it: the culprit is named with the fault, and the same cluster without it is quiet.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "runners/pipeline/play_trial.h"
#include "scenarios/format/scenario_file.h"
#include "tests/scenarios/sample.h"
#include "tests/support/healthy_run.h"

namespace deadrank {
namespace {

struct Report {
    std::string symptom, cluster, workload, fault, expect = "", heal = "fault = \"none\"";
};

runners::Trialled told(const Report& report, const std::string& stage = "communication") {
    const std::string toml = fmt::format(
        "format = 1\n[bug]\nstage = \"{}\"\nsymptom = \"{}\"\ncause = "
        "\"misconfigured_environment_variable\"\n"
        "fix = \"resource_and_environment_configuration\"\n[cluster]\n{}\n[workload]\n{}\n[[fault]]\n{}\n"
        "[expect]\nwithin = \"60s\"\n{}\n[heal]\n{}\n",
        stage, report.symptom, report.cluster, report.workload, report.fault, report.expect, report.heal);
    const auto words = runners::vocabulary();
    const auto scenario =
        scenarios::parse_scenario(toml, stage + "/one.toml", tests::sample_taxonomy(), words);
    EXPECT_TRUE(scenario) << scenario.error().text();
    runners::SimRunner runner;
    return runners::play(*scenario, {1}, runner, words);
}

// All three runs, and the reason where one is not as asked.
void expect_pass(const runners::Trialled& trialled) {
    const results::Case& outcome = trialled.outcome;
    EXPECT_EQ(outcome.fault->verdict, results::Verdict::pass) << outcome.fault->reason;
    ASSERT_TRUE(outcome.control && outcome.healed);
    EXPECT_EQ(outcome.control->verdict, results::Verdict::pass) << outcome.control->reason;
    EXPECT_EQ(outcome.healed->verdict, results::Verdict::pass) << outcome.healed->reason;
}

const std::string training = "kind = \"data_parallel\"\nsteps = 8";

TEST(NetworkReports, SocketsOnPurposeRingNothing) {
    for (const char* cluster : {"rdma = false", "rdma = false\nenvironment = { NCCL_IB_DISABLE = \"1\" }"}) {
        const auto trialled =
            told({.symptom = "collective_deadlock_hang",
                  .cluster = cluster,
                  .workload = training,
                  .fault = "kind = \"kill_rank\"\nrank = 3\nwhen = { step = 4 }",
                  .expect = "symptom = \"native_crash_or_illegal_access\"\n"
                            "also = [\"collective_deadlock_hang\", \"host_resource_exhaustion\"]"});
        ASSERT_TRUE(trialled.outcome.control);
        EXPECT_EQ(trialled.outcome.control->verdict, results::Verdict::pass)
            << trialled.outcome.control->reason;
    }
}

TEST(NetworkReports, AnInterfaceThatOneNodeLacksIsNamed) {
    expect_pass(told({.symptom = "communication_setup_failure",
                      .cluster = "environment = { NCCL_SOCKET_IFNAME = \"eth0\" }\nlauncher = \"mpirun\"",
                      .workload = training,
                      .fault = "kind = \"remove_interface\"\nnode = 1\nnew_name = \"enp6s0\"",
                      .expect = "blames = [\"node\"]\nreaction = \"refuse_to_start\""},
                     "initialization"));
}

TEST(NetworkReports, AWrongRankOfTheRightNodeIsToldHowToAsk) {
    const auto trialled =
        told({.symptom = "communication_setup_failure",
              .cluster = "environment = { NCCL_SOCKET_IFNAME = \"eth0\" }\nlauncher = \"mpirun\"",
              .workload = training,
              .fault = "kind = \"remove_interface\"\nnode = 1\nnew_name = \"enp6s0\"",
              .expect = "blames = [\"rank\"]\nrank = \"node 1\""},
             "initialization");
    ASSERT_TRUE(trialled.outcome.fault);
    const results::Judgement& judged = *trialled.outcome.fault;
    if (judged.verdict == results::Verdict::pass) return;  // all ranks of the node have spoken
    EXPECT_NE(judged.reason.find("blames = [\"node\"]"), std::string::npos) << judged.reason;
}

TEST(NetworkReports, CardsThatAccessControlTurnsAwayAreNamedByNode) {
    expect_pass(
        told({.symptom = "remote_peer_connection_error",
              .cluster = "nodes = 3\ngpus_per_node = 2",
              .workload = training,
              .fault = "kind = \"lose_gpudirect\"\nnode = 1\nhow = \"blocked\"",
              .expect = "blames = [\"node\", \"component\"]\nreaction = \"error\"",
              .heal = "fault = \"keep\"\n[heal.cluster]\nenvironment = { NCCL_NET_GDR_LEVEL = \"0\" }"}));
}

TEST(NetworkReports, ANodeWithoutGpuDirectIsNamed) {
    expect_pass(told({.symptom = "collective_transport_degraded",
                      .cluster = "nodes = 2\ngpus_per_node = 2",
                      .workload = training,
                      .fault = "kind = \"lose_gpudirect\"\nnode = 1",
                      .expect = "blames = [\"node\"]\nreaction = \"complete\""}));
}

TEST(NetworkReports, AMachineWithoutGpuDirectIsAsItIs) {
    const auto trialled =
        told({.symptom = "collective_transport_degraded",
              .cluster = "gpudirect = false\nnics = 4",
              .workload = training,
              .fault = "kind = \"slow_link\"\nnode = 1\nfactor = \"20x\"\nwhen = { step = 5 }"});
    ASSERT_TRUE(trialled.outcome.control);
    EXPECT_EQ(trialled.outcome.control->verdict, results::Verdict::pass) << trialled.outcome.control->reason;
}

TEST(HostReports, ARankWithTooFewThreadsOrLanesIsTheStraggler) {
    for (const char* seam : {"host.threads", "copy.lanes"}) {
        expect_pass(told(
            {.symptom = "straggler_step_time_skew",
             .cluster = "environment = { OMP_NUM_THREADS = \"8\" }",
             .workload = "kind = \"data_parallel\"\nsteps = 12\nhost_work = \"160ms\"\ncopy_time = \"20ms\"",
             .fault = fmt::format("kind = \"bend_value\"\nrank = 3\nseam = \"{}\"\ndivide = 4", seam),
             .expect = "blames = [\"rank\"]"},
            "scheduling"));
    }
}

TEST(HostReports, AVariableGivesARankItsThreads) {
    expect_pass(told({.symptom = "straggler_step_time_skew",
                      .cluster = "environment = { OMP_NUM_THREADS = \"8\" }",
                      .workload = "kind = \"data_parallel\"\nsteps = 12\nhost_work = \"160ms\"",
                      .fault = "kind = \"set_env\"\nrank = 3\nname = \"OMP_NUM_THREADS\"\nvalue = \"1\"",
                      .expect = "blames = [\"rank\"]"},
                     "scheduling"));
}

TEST(Audit, SeesAReductionThatOvertakesTheCopies) {
    expect_pass(told({.symptom = "wrong_intermediate_value",
                      .cluster = "",
                      .workload = "kind = \"zero\"\nstage = 2\nbucket = 16\nsteps = 6\naudit = true",
                      .fault = "kind = \"skip_block\"\nrank = 2\nblock = \"pack.wait\"\nwhen = { step = 3 }",
                      .expect = "blames = [\"step\"]\nstep = 3",
                      .heal = "fault = \"keep\"\n[heal.workload]\none_stream = true"},
                     "computation"));
}

}  // namespace
}  // namespace deadrank
