// Goal: what a log says is taken for what it means: a number of a launcher's task or of a subgroup is no
// rank, a proof of a good end is one, a parent's echo is no cause, other vendors' words are read, and no
// cause is named that no line speaks for. Each answer fits on a screen.
#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/results/incidents/incident_files.h"

namespace deadrank::tests {
namespace {

using results::diagnosis::IncidentOutcome;
using results::diagnosis::StopKind;
using results::diagnosis::Vendor;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::string failing(const std::string& prefix, const std::string& error) {
    return prefix + "Traceback (most recent call last):\n" + prefix +
           "  File \"/job/train.py\", line 7, in main\n" + prefix + "    step()\n" + prefix + error + "\n";
}
std::string lines_of_work(int count) {
    std::string work;
    for (int step = 0; step < count; ++step) work += "step " + std::to_string(step) + " loss 0.5\n";
    return work;
}
std::string ended_task(const std::string& host, int task) {
    return "srun: error: " + host + ": task " + std::to_string(task) + ": Exited with exit code 1\n";
}

std::string next_of(const results::diagnosis::Diagnosis& diagnosis) {
    const auto next = next_looks(diagnosis);
    return next.empty() ? std::string() : next.front();
}

// ── Ranks

TEST(LogRanks, APlaceInASubgroupIsNoRank) {
    const std::string words =
        "[PG ID 3 PG GUID 31 Rank 2] Process group watchdog thread terminated with exception: [Rank 2] "
        "Watchdog "
        "caught collective operation timeout: WorkNCCL(SeqNum=9, OpType=ALLREDUCE, NumelIn=8, NumelOut=8, "
        "Timeout(ms)=600000) ran for 600001 milliseconds before timing out.\n";
    const auto diagnosis = told_by("[rank6]:[E101 00:10:00.000000000 ProcessGroupNCCL.cpp:1] " + words +
                                   "terminate called after throwing an instance of 'c10::DistBackendError'\n"
                                   "  what():  " +
                                   words);
    EXPECT_EQ(gist_of(diagnosis), "collective_timeout_abort");
    EXPECT_THAT(diagnosis.finding->says, HasSubstr("rank 6 waited"));
    EXPECT_THAT(told_by("  what():  " + words).finding->says, Not(HasSubstr("rank 2")));
    // The whole job's group has the ranks of the job.
    EXPECT_THAT(told_by("[E ProcessGroupNCCL.cpp:1] [PG ID 0 PG GUID 0(default_pg) Rank 2] Watchdog caught "
                        "collective operation timeout: WorkNCCL(SeqNum=9, OpType=ALLREDUCE) ran\n")
                    .finding->says,
                HasSubstr("rank 2 waited"));
}

TEST(LogRanks, TheSameErrorOnAllRanksIsEverybodys) {
    std::string log;
    for (const int rank : {3, 1, 0, 2})
        log += failing("[rank" + std::to_string(rank) + "]: ",
                       "ValueError: weights of 0x7f2" + std::to_string(rank) + " are not positive");
    EXPECT_EQ(gist_of(told_by(log)), "framework_runtime_exception of 0,1,2,3");
    EXPECT_EQ(gist_of(told_by(log + failing("[rank4]: ", "torch.OutOfMemoryError: CUDA out of memory"))),
              "device_out_of_memory of 4");
}

// Each node's task starts torchrun: task 1 is the second node.
TEST(LogRanks, ATaskThatIsALauncherIsNoRank) {
    const std::string agent =
        "ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: 1) of binary: "
        "/usr/bin/python3\n";
    const std::string error = failing("", "KeyError: 'labels'");
    EXPECT_EQ(gist_of(told_by(error + agent + ended_task("n1", 1))), "framework_runtime_exception");
    EXPECT_EQ(gist_of(told_by("1: a\n0: b\n" + failing("1: ", "KeyError: 'labels'") + "1: " + agent)),
              "framework_runtime_exception");
    EXPECT_EQ(gist_of(told_by("0: a\n" + failing("1: [rank9]: ", "KeyError: 'labels'") +
                              "1: RuntimeError: CUDA out of memory\n")),
              "device_out_of_memory");
    // Without a launcher within the tasks each is a rank, and both print the same traceback.
    EXPECT_EQ(gist_of(told_by(error + error + ended_task("n0", 0) + ended_task("n1", 1))),
              "framework_runtime_exception of 0,1");
    EXPECT_EQ(gist_of(told_by("0: a\n1: b\n" + failing("1: ", "KeyError: 'labels'"))),
              "framework_runtime_exception of 1");
}

TEST(LogRanks, DeepSpeedsLastCommandIsNotTheOneThatFailed) {
    const auto log = [](int killed, const std::string& local) {
        std::string text;
        for (int i = 0; i < killed; ++i)
            text += "[2025-01-02 03:04:05,100] [INFO] [launch.py:319:sigkill_handler] Killing subprocess 7" +
                    std::to_string(i) + "\n";
        return text +
               "[2025-01-02 03:04:06,100] [ERROR] [launch.py:325:sigkill_handler] ['python', 't.py', "
               "'--local_rank=" +
               local + "'] exits with return code = -9\n";
    };
    EXPECT_EQ(gist_of(told_by(log(1, "0"))), "host_resource_exhaustion of 0");
    EXPECT_EQ(gist_of(told_by(log(4, "3"))), "host_resource_exhaustion");
    EXPECT_EQ(gist_of(told_by(log(1, "3"))), "host_resource_exhaustion");
    EXPECT_EQ(gist_of(told_by(log(0, "0"))), "host_resource_exhaustion");
}

// A label keeps the lines of a task apart; its traceback stands where it began all the same.
TEST(LogRanks, ATracebackOfALabelledTaskComesBeforeWhatFollowsFromIt) {
    const std::string crash =
        "5: step 9 loss 0.5\n2: step 9 loss 0.5\n" + failing(" 5: ", "ValueError: shard 17 has no index");
    EXPECT_EQ(
        gist_of(told_by(crash + "srun: error: n2: task 5: Exited with exit code 1\n"
                                "slurmstepd: error: *** STEP 9.0 ON n1 CANCELLED AT 2026-01-31T10:00:00 "
                                "***\nsrun: error: n1: tasks 0-3: Terminated\n")),
        "framework_runtime_exception of 5");
    const auto hung = told_by(crash +
                              "2: step 10 loss 0.5\n"
                              "slurmstepd: error: *** JOB 9 ON n1 CANCELLED AT 2026-01-31T10:00:00 DUE "
                              "TO TIME LIMIT ***\n");
    EXPECT_EQ(gist_of(hung), "framework_runtime_exception of 5") << "the others waited until the limit";
}

TEST(LogRanks, JaxNamesTheTasksThatNeverCame) {
    const auto barrier = [](const std::string& name, std::initializer_list<int> tasks) {
        std::string text =
            failing("", "jax.errors.JaxRuntimeError: DEADLINE_EXCEEDED: Barrier timed out. Id: " + name +
                            ". Some timed out task names:");
        for (const int task : tasks) text += "/job:jax_worker/replica:0/task:" + std::to_string(task) + "\n";
        return text;
    };
    EXPECT_EQ(gist_of(told_by(barrier("PjRT_Client_Connect", {9, 4, 5, 6, 7, 8, 10, 11}))),
              "communication_setup_failure of 4,5,6,7,8,9,10,11");
    EXPECT_EQ(gist_of(told_by(barrier("sync_global_devices", {3}))), "collective_timeout_abort of 3");
    const auto lost = told_by(
        "2026-01-31 10:00:00.1: E xla/coordination_service.cc:780] CoordinationServiceError: "
        "/job:jax_worker/replica:0/task:5 has been set to ERROR in coordination service: UNAVAILABLE: Task "
        "/job:jax_worker/replica:0/task:5 heartbeat timeout.\n");
    EXPECT_EQ(gist_of(lost), "collective_timeout_abort of 5");
    EXPECT_EQ(lost.finding->says, "rank 5 stopped sending heartbeats") << "no barrier is told of";
}

TEST(LogRanks, TheHostOfATaskThatRanOutOfMemoryIsNamed) {
    const auto diagnosis = told_by(
        "slurmstepd: error: Detected 1 oom_kill event in StepId=7.0. Some of the step tasks have been OOM "
        "Killed.\nsrun: error: n12: task 3: Out Of Memory\nsrun: Terminating StepId=7.0\n");
    EXPECT_THAT(gist_of(diagnosis), HasSubstr("host_resource_exhaustion"));
    EXPECT_THAT(diagnosis.incident.hosts, ElementsAre("n12"));
}

TEST(LogRanks, HorovodNamesTheRanksThatAreMissing) {
    const std::string head =
        "W stall_inspector.cc:105] One or more tensors were submitted to be reduced, gathered or broadcasted "
        "by "
        "subset of ranks and are waiting for remainder of ranks for more than 60 seconds.\n";
    EXPECT_EQ(gist_of(told_by(head + "Missing ranks:\n1: [grad_a, grad_b]\n5: [grad_b]\n\nstep 3 loss 1\n")),
              "collective_deadlock_hang of 1,5");
    EXPECT_EQ(
        gist_of(told_by(head + "Stalled ops:\ngrad_a [missing ranks: 1, 2, 3]\ngrad_b [missing ranks: 1, "
                               "3]\n")),
        "collective_deadlock_hang of 1,3");
    // Under mpirun's label the stamp of the next message is no item of the list.
    const std::string labelled =
        "[1,0]<stderr>:[2026-02-11 08:31:22.801131: W stall_inspector.cc:107] One or more tensors were submitted to be "
        "reduced, gathered or broadcasted by subset of ranks and are waiting for remainder of ranks\n"
        "[1,0]<stderr>:Missing ranks:\n[1,0]<stderr>:2: [grad_a]\n";
    EXPECT_EQ(gist_of(told_by(labelled + labelled)), "collective_deadlock_hang of 2");
}

TEST(LogRanks, ReadsTheRankThatALibraryOrALauncherNames) {
    EXPECT_EQ(gist_of(told_by(failing("",
                                      "RuntimeError: HCCL function error: hcclCommInitRootInfoConfig(), "
                                      "error code is 7\n[ERROR] 2025-01-02-03:04:05 (PID:7, Device:1, "
                                      "RankID:5) ERR02200 DIST call hccl api failed."))),
              "communication_setup_failure of 5");
    EXPECT_EQ(
        gist_of(told_by("[ERROR] 2025-01-02-03:04:05 (PID:7, Device:1, RankID:-1) ERR02200 DIST call hccl "
                        "api failed.\n")),
        "communication_setup_failure");
    EXPECT_EQ(
        gist_of(told_by("n7.cluster: rank 2 died from signal 11 and dumped core\nn7.cluster: rank 0 died "
                        "from signal 15\n")),
        "native_crash_or_illegal_access of 2");
    EXPECT_EQ(
        gist_of(told_by("torch.multiprocessing.spawn.ProcessRaisedException: \n\n-- Process 3 terminated "
                        "with the following error:\n" +
                        failing("", "KeyError: 'labels'"))),
        "framework_runtime_exception of 3");
}

// Who loses a peer is not the one that failed.
TEST(LogRanks, BlamesTheRankThatTheOthersLost) {
    std::string log = "world_size=4\n";
    for (const char* rank : {"0", "1", "3"})
        log += std::string("[rank") + rank + "]: RuntimeError: Connection closed by peer [10.0.0.2]:4000\n";
    EXPECT_EQ(gist_of(told_by(log)), "remote_peer_connection_error of 2");
}

// ── Ends

TEST(LogEnds, KnowsTheProofsOfAGoodEnd) {
    const std::string mlperf =
        "0: :::MLLOG {\"namespace\": \"\", \"event_type\": \"INTERVAL_END\", \"key\": \"run_stop\", "
        "\"value\": null, "
        "\"metadata\": {\"lineno\": 12, \"status\": \"";
    EXPECT_EQ(gist_of(told_by(mlperf + "success\"}}\n" + lines_of_work(40))), "completed");
    EXPECT_EQ(told_by(mlperf + "aborted\"}}\n").incident.stop, StopKind::aborted);
    EXPECT_EQ(gist_of(told_by(":::MLLOG {\"key\": \"run_stop\", \"value\": \"sucess\"}\n")), "completed");
    EXPECT_EQ(gist_of(told_by(lines_of_work(3) + std::string(36, '=') + "\nTraining Completed\n" +
                              std::string(36, '=') + "\n")),
              "completed");
    EXPECT_EQ(gist_of(told_by("# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 13.5\n")),
              "completed");
    EXPECT_EQ(gist_of(told_by("# Out of bounds values : 4 FAILED\n# Avg bus bandwidth    : 13.5\n")),
              "parallel_result_mismatch");
    EXPECT_EQ(gist_of(told_by("step 1\n# LSBATCH: User input\nSuccessfully completed.\n\nResource usage:\n")),
              "completed");
    EXPECT_EQ(gist_of(told_by(lines_of_work(3) + "trainer-0 exited with code 0\n")), "completed");
}

// Each platform has its own words for the end of a job: for a good one, a bad one and one that it brought
// about.
TEST(LogEnds, AreToldByPlatformsInTheirOwnWords) {
    const std::string work = lines_of_work(3);
    for (const char* good : {"005 (7.000.000) 2026-01-31 12:00:00 Job terminated.\n\t(1) Normal termination "
                             "(return value 0)\n...\n",
                             "2026-01-31 12:00:00,000\tSUCC cli.py:66 -- Job 'raysubmit_1' succeeded\n",
                             "sagemaker-training-toolkit INFO     Reporting training SUCCESS\n",
                             "    State:          Terminated\n      Reason:       Completed\n",
                             "======= 4 passed in 12.31s =======\n"})
        EXPECT_EQ(gist_of(told_by(work + good)), "completed") << good;
    for (const char* bad :
         {"005 (7.000.000) 2026-01-31 12:00:00 Job terminated.\n\t(1) Normal termination "
          "(return value 1)\n...\n",
          "2026-01-31 12:00:00,000\tERR cli.py:73 -- Job 'raysubmit_1' failed\n",
          "sagemaker-training-toolkit ERROR    Reporting training FAILURE\n",
          "flux-job: task(s) exited with exit code 1\n", "======= 1 failed, 3 passed in 12.31s =======\n"})
        EXPECT_EQ(gist_of(told_by(work + bad)), "unknown") << bad;
    const std::pair<const char*, StopKind> stops[] = {
        {"004 (7.000.000) 2026-01-31 12:00:00 Job was evicted.\n", StopKind::preempted},
        {"009 (7.000.000) 2026-01-31 12:00:00 Job was aborted by the user.\n", StopKind::cancelled},
        {"2026-01-31 12:00:00,000\tWARN cli.py:80 -- Job 'raysubmit_1' was stopped\n", StopKind::cancelled},
        {"0.102s: job.exception type=timeout severity=0 resource allocation expired\n", StopKind::time_limit},
        {"0.102s: job.exception type=cancel severity=0 \n", StopKind::cancelled},
        {"Spot interruption notice, saving\nReceived SIGTERM\n", StopKind::preempted},
        {"[rank: 0] Received SIGTERM: 15\nSIGTERMException\n", StopKind::terminated}};
    for (const auto& [words, kind] : stops) EXPECT_EQ(told_by(work + words).incident.stop, kind) << words;
}

// Parts of a job end well too: such words are a proof only where little follows.
TEST(LogEnds, AProofInTheMiddleIsNone) {
    const std::string part = "validation completed successfully\n";
    EXPECT_EQ(gist_of(told_by(lines_of_work(30) + part)), "completed");
    EXPECT_EQ(gist_of(told_by(part + lines_of_work(30))), "unknown");
    EXPECT_EQ(gist_of(told_by(part + lines_of_work(30) + part)), "completed");
    EXPECT_EQ(gist_of(told_by(part + failing("", "KeyError: 'labels'"))), "framework_runtime_exception");
}

// Benchmarks end with a number. OSU's table is complete with the largest message size, perftest's with the
// rule below it; a table that stops earlier may have been cut.
TEST(LogEnds, ABenchmarkEndsWithTheLastRowOfItsTable) {
    const auto osu = [](const std::string& title, std::int64_t last) {
        std::string log =
            "# OSU MPI-CUDA " + title + " Test v7.2\n# Datatype: MPI_CHAR.\n# Size       Avg(us)\n";
        for (std::int64_t size = 4; size <= last; size *= 2) log += std::to_string(size) + "       10.21\n";
        return log;
    };
    constexpr std::int64_t mib = 1 << 20;
    EXPECT_EQ(gist_of(told_by(osu("Allreduce Latency", mib))), "completed");
    EXPECT_EQ(gist_of(told_by(osu("Allreduce Latency", mib / 2))), "unknown");
    EXPECT_EQ(gist_of(told_by(osu("Bandwidth", 4 * mib))), "completed");
    EXPECT_EQ(gist_of(told_by(osu("Bandwidth", mib))), "unknown") << "between two ranks it goes on to 4 MiB";
    const std::string asked = "+ mpirun -n 2 osu_bw -m 4:65536 D D\n";
    EXPECT_EQ(gist_of(told_by(asked + osu("Bandwidth", 65536))), "completed");
    EXPECT_EQ(gist_of(told_by(asked + osu("Bandwidth", 32768))), "unknown");
    EXPECT_EQ(gist_of(told_by(osu("Allreduce Latency", mib) + osu("Bandwidth", 4096))), "unknown");
    EXPECT_EQ(gist_of(told_by("# OSU MPI Barrier Latency Test v7.2\n# Avg Latency(us)\n      5.21\n")),
              "completed");
    EXPECT_EQ(gist_of(told_by(osu("Allreduce Latency", mib) + ended_task("n1", 1))), "unknown");

    const std::string rule(90, '-');
    const std::string perftest =
        rule + "\n                    RDMA_Write BW Test\n" + rule +
        "\n #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"
        " 65536      5000             392.11             392.05             0.747\n";
    EXPECT_EQ(gist_of(told_by(perftest + rule + "\n")), "completed");
    EXPECT_EQ(gist_of(told_by(perftest)), "unknown");
}

// A benchmark of any other name ends with a total that it prints once, after lines that it prints repeatedly.
TEST(LogEnds, ABenchmarkEndsWithItsSummary) {
    const auto log = [](const std::string& title, const std::string& last) {
        std::string text = title + "\n";
        for (int i = 0; i < 5; ++i) text += "Iter #" + std::to_string(i) + ": 231.4 img/sec per GPU\n";
        return text + last + "\n";
    };
    const std::string total = "Total img/sec on 8 GPU(s): 1848.2 +-3.1";
    EXPECT_EQ(gist_of(told_by(log("Running benchmark...", total))), "completed");
    EXPECT_EQ(gist_of(told_by(log("Running benchmark...", ""))), "unknown");
    EXPECT_EQ(gist_of(told_by(log("training", total))), "unknown") << "a job may print a total at any time";
    EXPECT_EQ(gist_of(told_by(log("cudnn.benchmark = True, benchmark: null", total))), "unknown");
    EXPECT_EQ(gist_of(told_by(log("Running benchmark...", total + "\n" + total))), "unknown")
        << "what is printed again is no end";
    EXPECT_EQ(gist_of(told_by(log("Running benchmark...", total + "\n" + lines_of_work(3)))), "unknown");
    EXPECT_EQ(gist_of(told_by(log("Running benchmark...", total + "\n" + failing("", "KeyError: 'labels'")))),
              "framework_runtime_exception");
}

TEST(LogEnds, TellsLimitCancellationAndPreemptionApart) {
    const std::string slurm = "slurmstepd: error: *** JOB 7 ON n3 CANCELLED AT 2025-02-03T04:05:06";
    const auto stop_of = [](const std::string& log) {
        const auto diagnosis = told_by("step 1 loss 0.5\n" + log);
        EXPECT_EQ(diagnosis.incident.outcome, IncidentOutcome::stopped) << log;
        return diagnosis.incident.stop;
    };
    EXPECT_EQ(stop_of(slurm + " DUE TO TIME LIMIT ***\n"), StopKind::time_limit);
    EXPECT_EQ(stop_of(slurm + " DUE TO PREEMPTION ***\n"), StopKind::preempted);
    EXPECT_EQ(stop_of("WARNING:absl:Received preemption notice: maintenance event TERMINATE_ON_HOST_MAINTENANCE\n"),
              StopKind::preempted);
    EXPECT_EQ(stop_of(slurm + " ***\n"), StopKind::cancelled);
    EXPECT_EQ(stop_of("TERM_RUNLIMIT: job killed after reaching LSF run time limit.\n"),
              StopKind::time_limit);
    EXPECT_EQ(stop_of("TERM_OWNER: job killed by owner.\nExited with exit code 143.\n"), StopKind::cancelled);
    EXPECT_EQ(
        stop_of(
            "Traceback (most recent call last):\n  File \"/job/t.py\", line 3, in f\nKeyboardInterrupt\n"),
        StopKind::interrupted);
    EXPECT_THAT(told_by(slurm + " DUE TO TIME LIMIT ***\n").incident.stopped_by,
                HasSubstr("Slurm's time limit at 2025-02-03T04:05:06"));
}

// While a scheduler ends a job its processes lose each other, and are killed.
TEST(LogEnds, WhatFollowsFromAStopIsNoCause) {
    const std::string stop = "slurmstepd: error: *** STEP 7.0 ON n3 CANCELLED AT 2025-02-03T04:05:06 ***\n";
    const std::string lost = "[rank1]: RuntimeError: Connection closed by peer [10.0.0.2]:4000\n",
                      killed = "srun: error: n3: task 0: Killed\n";
    EXPECT_EQ(gist_of(told_by(lines_of_work(3) + stop + lost + killed)), "stopped");
    EXPECT_EQ(gist_of(told_by(lines_of_work(3) + failing("", "KeyError: 'labels'") + stop + killed)),
              "framework_runtime_exception");
    // It was queued again, and failed an hour later.
    EXPECT_EQ(gist_of(told_by("2025-02-03 04:05:06 " + stop + "2025-02-03 05:00:00 begun again\n" +
                              failing("", "KeyError: 'labels'"))),
              "framework_runtime_exception");
    EXPECT_EQ(
        gist_of(told_by("slurmstepd: error: Detected 1 oom_kill event in StepId=7.0.\n" + stop + killed)),
        "host_resource_exhaustion");
}

TEST(LogEnds, NamesWhoFellSilentBeforeALimit) {
    const auto said = [](const char* time, int rank) {
        return std::string("2025-02-03 ") + time + " [rank" + std::to_string(rank) + "]: step 5 loss 0.5\n";
    };
    const std::string limit =
        "2025-02-03 06:00:00 slurmstepd: error: *** JOB 7 ON n3 CANCELLED AT "
        "2025-02-03T06:00:00 DUE TO TIME LIMIT ***\n";
    const auto hung = told_by(said("04:00:00", 0) + said("04:00:00", 1) + said("04:00:00", 2) +
                              said("04:10:00", 0) + said("04:10:00", 2) + limit);
    EXPECT_EQ(gist_of(hung), "stopped");
    EXPECT_THAT(hung.incident.silent_first, ElementsAre(1));
    EXPECT_EQ(hung.incident.silence, results::Time(std::chrono::minutes(110)));
    const auto worked = told_by(said("05:58:00", 0) + said("05:59:30", 1) + limit);
    EXPECT_THAT(worked.incident.silent_first, IsEmpty());
    EXPECT_EQ(worked.incident.silence, results::Time{0});
}

// Where lines name no ranks, a silence of twice the usual wait is a standstill, and nobody's.
TEST(LogEnds, TellsOfASilenceThatNoRankIsNamedIn) {
    const auto work = [](int minutes, const char* zone) {
        std::string log;
        for (int i = 0; i < minutes; ++i)
            log += "2025-02-03T04:" + std::string(i < 10 ? "0" : "") + std::to_string(i) + ":05" + zone +
                   " step " + std::to_string(i) + " loss 0.5\n";
        return log;
    };
    const auto limit = [](const char* time) {
        return std::string("slurmstepd: error: *** JOB 7 ON n3 CANCELLED AT 2025-02-03T") + time +
               " DUE TO TIME LIMIT ***\n";
    };
    const auto hung = told_by(work(30, "") + limit("05:15:10"));
    EXPECT_EQ(gist_of(hung), "stopped");
    EXPECT_EQ(hung.incident.silence, results::Time(std::chrono::seconds(46 * 60 + 5)));
    EXPECT_FALSE(hung.incident.lines_name_ranks);
    EXPECT_EQ(told_by(work(30, "") + limit("04:31:10")).incident.silence, results::Time{0});
    EXPECT_EQ(
        told_by("2025-02-03T03:00:00 step 0 loss 1\n" + work(30, "") + limit("05:15:10")).incident.silence,
        results::Time{0})
        << "it waited as long before";
    EXPECT_EQ(told_by(work(30, "Z") + limit("12:29:20")).incident.silence, results::Time{0})
        << "eight hours are a time zone";
}

// A table of sacct tells how a job ended; how a step ended proves nothing about the job.
TEST(LogEnds, AreReadInTablesOfSacct) {
    const auto table = [](const std::string& job, const std::string& step) {
        return "JobID           JobName  Partition      State ExitCode \n"
               "------------ ---------- ---------- ---------- -------- \n"
               "4711           pretrain        gpu " +
               job + "\n4711.0         torchrun            " + step + "\n";
    };
    EXPECT_EQ(gist_of(told_by(table("   TIMEOUT      0:0", " CANCELLED     0:15"))), "stopped");
    EXPECT_EQ(told_by(table("   TIMEOUT      0:0", " CANCELLED     0:15")).incident.stop,
              StopKind::time_limit);
    EXPECT_EQ(told_by(table("CANCELLED+      0:0", " CANCELLED     0:15")).incident.stop,
              StopKind::cancelled);
    EXPECT_EQ(gist_of(told_by(table(" COMPLETED      0:0", " COMPLETED      0:0"))), "completed");
    EXPECT_EQ(gist_of(told_by(table(" NODE_FAIL      1:0", " CANCELLED      0:9"))), "device_fault_reported");
    EXPECT_EQ(gist_of(told_by(table("    FAILED      1:0", "    FAILED      1:0"))), "unknown");
    EXPECT_EQ(gist_of(told_by("JobID|State|ExitCode|\n4800|OUT_OF_MEMORY|0:125|\n4800.0|COMPLETED|0:0|\n")),
              "host_resource_exhaustion");
    EXPECT_EQ(gist_of(told_by("JobId=7 JobName=sft\n   JobState=PREEMPTED Reason=None\n")), "stopped");
}

// However a program words its loss; one that is finite again is no complaint, and one that is lost for good
// is, whatever the job prints at its end.
TEST(LogClasses, ALossThatIsNoNumber) {
    for (const char* line : {"step 9 loss nan", "step 9: train_loss = NaN", "{\"step\": 9, \"loss\": NaN}",
                             "iteration 9/ 100 | lm loss: nan |", "Epoch 1 Loss: inf", "loss/train: -inf"})
        EXPECT_EQ(gist_of(told_by(lines_of_work(3) + line + "\n")), "loss_nan_or_divergence") << line;
    for (const char* line : {"loss information follows", "loss_nan_check=off", "loss nanny", "glossy nan"})
        EXPECT_EQ(gist_of(told_by(lines_of_work(3) + line + "\n")), "unknown") << line;
    EXPECT_EQ(gist_of(told_by("step 0 loss nan\n" + lines_of_work(6))), "unknown");
    EXPECT_EQ(gist_of(told_by(lines_of_work(3) + "step 4 loss nan\nstep 5 loss nan\nTraining complete\n")),
              "loss_nan_or_divergence");
}

// HCCL names the rank that it waits for. Rank 0 waits for 1, which waits for 6.
TEST(LogClasses, TheRemoteRankOfHcclIsToBlame) {
    const auto waits = [](int rank, int remote) {
        return "[rank" + std::to_string(rank) +
               "]: RuntimeError: EI0002: 2026-01-31-10:14:00 The wait execution of the Notify register times "
               "out. Reason: The Notify register has not received the Notify record from remote rank [" +
               std::to_string(remote) + "].\n";
    };
    EXPECT_EQ(gist_of(told_by(waits(0, 4))), "collective_timeout_abort of 4");
    EXPECT_EQ(gist_of(told_by(waits(0, 1) + waits(1, 6) + waits(5, 6))), "collective_timeout_abort of 6");
}

TEST(LogEnds, ShellComplaintsBeforeTheWorkAccuseNobody) {
    const std::string lacking = "sudo: tool: command not found\n";
    EXPECT_EQ(gist_of(told_by(lacking + lacking + lines_of_work(12))), "unknown");
    EXPECT_EQ(
        gist_of(told_by("CommandNotFoundError: Your shell has not been properly configured to use 'conda "
                        "activate'.\n" +
                        lines_of_work(5) +
                        "slurmstepd: error: *** JOB 7 ON n3 CANCELLED AT 2025-02-03T04:05:06 ***\n")),
        "stopped");
    EXPECT_EQ(gist_of(told_by(lacking + lacking)), "build_or_install_failure");
}

// A job that went on after a complaint is not accused of it: an error line before lines of progress, an
// exception that ended a thread.
TEST(LogEnds, WhatAJobSurvivedIsNoFailure) {
    const std::string no_device =
                          "E cuda_driver.cc:268] failed call to cuInit: CUDA_ERROR_NO_DEVICE: no "
                          "CUDA-capable device is detected\n",
                      fallback = "ImportError: cannot import name 'apex', using torch\n",
                      thread = "Exception in thread Thread-4:\n" +
                               failing("", "ConnectionResetError: [Errno 104] Connection reset by peer");
    for (const std::string& complaint : {no_device, fallback, thread}) {
        EXPECT_EQ(gist_of(told_by(complaint + lines_of_work(6))), "unknown") << complaint;
        EXPECT_EQ(gist_of(told_by(lines_of_work(2) + complaint + "Training complete\n")), "completed")
            << complaint;
        EXPECT_TRUE(told_by(lines_of_work(6) + complaint).finding) << complaint;
    }
    EXPECT_EQ(gist_of(told_by(failing("", "KeyError: 'labels'") + lines_of_work(6))),
              "framework_runtime_exception");
}

// Python prints what a callback at the exit or a destructor raises, and ignores it.
TEST(LogEnds, WhatPythonIgnoresEndsNoProcess) {
    const std::string ignored = "Exception ignored in atexit callback: <function save at 0x7f23>\n" +
                                failing("", "FileNotFoundError: [Errno 2] No such file: 'cache.tmp'");
    EXPECT_EQ(gist_of(told_by(lines_of_work(6) + ignored)), "unknown");
    EXPECT_EQ(gist_of(told_by(lines_of_work(6) + ignored + ignored)), "unknown");
    EXPECT_EQ(gist_of(told_by(failing("", "NameError: name 'helper' is not defined") + ignored)),
              "framework_runtime_exception");
    EXPECT_EQ(gist_of(told_by(lines_of_work(6) + failing("", "FileNotFoundError: 'cache.tmp'"))),
              "model_or_data_loading_failure");
}

// The host of the store ends first, and the other agents find it gone as they shut down.
TEST(LogEnds, AnAgentThatShutsDownAfterItsStoreHasNotFailed) {
    const std::string store =
        "[W324 13:46:04.931619419 TCPStore.cpp:131] [c10d] recvVector failed on SocketImpl(fd=4, "
        "addr=[n1]:533, remote=[n0]:295): Connection reset by peer\n";
    const std::string agent =
        "W0324 13:46:04.752000 441213 torch/distributed/elastic/rendezvous/dynamic_rendezvous.py:1282] "
        "The "
        "node 'n1_441213_0' has failed to shutdown the rendezvous '7' due to an error of type "
        "RendezvousConnectionError.\n";
    EXPECT_EQ(gist_of(told_by(lines_of_work(6) + store + agent)), "unknown");
    EXPECT_EQ(gist_of(told_by(store)), "remote_peer_connection_error");
    EXPECT_EQ(gist_of(told_by(failing("", "KeyError: 'labels'") + store + agent)),
              "framework_runtime_exception");
}

TEST(LogEnds, WhatALauncherCouldNotStartIsSaid) {
    EXPECT_EQ(gist_of(told_by("slurmstepd: error: execve(): torchrun: No such file or directory\n")),
              "build_or_install_failure");
    EXPECT_EQ(gist_of(told_by("OMPI was not built with SLURM's PMI support and therefore cannot\nexecute.\n"
                              "*** An error occurred in MPI_Init_thread\n")),
              "communication_setup_failure");
}

TEST(LogEnds, AnInputOutputErrorOfATransportIsNoneOfAFile) {
    const std::string ucx =
        "[n1:56:2] ucp_rkey.c:250  UCX  ERROR Failed to unpack remote key: Input/output error\n";
    EXPECT_EQ(gist_of(told_by(ucx + "[n1:56:2] Caught signal 11 (Segmentation fault: address not mapped)\n")),
              "native_crash_or_illegal_access");
    EXPECT_EQ(gist_of(told_by("OSError: [Errno 5] Input/output error: '/data/a.bin'\n")),
              "model_or_data_loading_failure");
}

// ── Parents and children

TEST(LogParents, AnEchoNeverBeatsTheChildsOwnError) {
    const std::string child = failing("", "ValueError: no head of that size");
    for (const char* echo :
         {"RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}",
          "Exception: WorkerProc initialization failed due to an exception in a background process. See "
          "stack "
          "trace for root cause.",
          "torch.multiprocessing.spawn.ProcessExitedException: process 1 terminated with exit code 1"}) {
        const auto diagnosis = told_by(failing("(APIServer pid=3) ", echo) + child);
        EXPECT_THAT(diagnosis.finding->says, HasSubstr("no head of that size")) << echo;
        EXPECT_EQ(gist_of(told_by(failing("", echo))), "unknown") << echo;
    }
}

TEST(LogParents, ADriverThatRaisesAWorkersErrorAgainComesAfterIt) {
    const std::string worker = "(RayTrainWorker pid=31, ip=10.0.0.7) ";
    const auto diagnosis = told_by(failing(worker, "AssertionError: an empty batch") +
                                   failing("",
                                           "ray.train.v2.api.exceptions.WorkerGroupError: Training failed "
                                           "due to worker errors:"));
    ASSERT_TRUE(diagnosis.finding);
    EXPECT_EQ(diagnosis.finding->says, "AssertionError: an empty batch");
}

// A launcher's frames explain nothing; its sentence may.
TEST(LogParents, OfAnEchoTheSentenceIsQuotedAlone) {
    const std::string answer =
        IncidentFiles()
            .put("job.log",
                 failing("", "OSError: no shard in /data") +
                     "Traceback (most recent call last):\n"
                     "  File \"/usr/local/bin/launch\", line 8, in <module>\n    sys.exit(main())\n"
                     "subprocess.CalledProcessError: Command '['python', 't.py']' returned non-zero "
                     "exit status 1.\n")
            .answered();
    EXPECT_THAT(answer, HasSubstr("train.py\", line 7"));
    EXPECT_THAT(answer, HasSubstr("returned non-zero exit status 1"));
    EXPECT_THAT(answer, Not(HasSubstr("/usr/local/bin/launch")));
}

TEST(LogParents, AnInstalledPackageIsNotTheJobsOwnProgram) {
    const auto own = [](const std::string& path) {
        return told_by(
                   "Traceback (most recent call last):\n  File \"/home/u/run.py\", line 3, in main\n  File "
                   "\"" +
                   path + "\", line 41, in f\nKeyError: 'labels'\n")
            .incident.user_code;
    };
    EXPECT_EQ(own("/home/u/model.py"), "model.py, line 41");
    EXPECT_EQ(own("/opt/ml/code/model.py"), "model.py, line 41");
    for (const char* path :
         {"/home/u/.venv/lib/python3.11/site-packages/m/x.py", "/opt/NeMo/nemo/core/x.py",
          "/workspace/vllm/vllm/v1/engine/core.py", "/home/u/.local/bin/torchrun", "<string>"})
        EXPECT_EQ(own(path), "") << path;
}

// ── Other vendors

struct OfVendor {
    const char *words, *gist;
    Vendor vendor;
    const char *device, *next;
};

TEST(LogVendors, TheirWordsAndToolsAreKnown) {
    for (const OfVendor& one : std::initializer_list<OfVendor>{
             {"HW Exception by GPU node-3 (Agent handle: 0x1) reason :GPU Hang", "device_fault_reported",
              Vendor::amd, "GPU node-3", "amd-smi"},
             {" 24%|##   | 3/9 [00:04<00:08,  1.4s/it]HW Exception by GPU node-3 (Agent handle: 0x1) reason "
              ":GPU Hang",
              "device_fault_reported", Vendor::amd, "GPU node-3", "amd-smi"},
             {"[  77.4] amdgpu 0000:41:00.0: {1}socket: 1, die: 0, 3 new uncorrectable hardware errors "
              "detected in "
              "umc block",
              "device_fault_reported", Vendor::amd, "GPU 0000:41:00.0", "amd-smi"},
             {"Memory access fault by GPU node-2 (Agent handle: 0x1) on address 0x7f. Reason: Unknown.",
              "native_crash_or_illegal_access", Vendor::amd, "GPU node-2", "HIP_LAUNCH_BLOCKING"},
             {"RuntimeError: HIP error: no kernel image is available for execution on the device",
              "framework_runtime_exception", Vendor::amd, "", "collect_env"},
             {"RuntimeError: createHCCLCommOrigin HCCL function error: HcclGetRootInfo(&id), error code is 7",
              "communication_setup_failure", Vendor::ascend, "", "hccn_tool"},
             {"EI9999: hccl fftsplus task timeout occurred during task execution, stream_id:5",
              "collective_timeout_abort", Vendor::ascend, "", "HCCL_EXEC_TIMEOUT"},
             {"Aug  1 08:38:31 n1 kernel: [ 1197.5] [ascend] [ERROR] Heartbeat lost! (device=4; old_count=1)",
              "device_fault_reported", Vendor::ascend, "NPU 4", "npu-smi"},
             {"RuntimeError: oneCCL: global.cpp:150 getenv: EXCEPTION: no local_idx",
              "communication_setup_failure", Vendor::intel, "", "CCL_LOG_LEVEL"},
             {"RuntimeError: level_zero backend failed with error: 20 (UR_RESULT_ERROR_DEVICE_LOST)",
              "device_fault_reported", Vendor::intel, "", "xpu-smi"},
             {"NVRM: Xid (PCI:0000:41:00): 45, pid=9, name=python3, Ch 00000001 caused by previous Xid 149",
              "device_fault_reported", Vendor::nvidia, "GPU 0000:41:00", "nvidia-smi"},
             {"NVRM: Xid (PCI:0000:41:00): 45, pid=9, name=python3, Ch 00000001 caused by previous Xid 31",
              "native_crash_or_illegal_access", Vendor::nvidia, "GPU 0000:41:00", "compute-sanitizer"},
             {"RuntimeError: CUDA error: no kernel image is available for execution on the device",
              "framework_runtime_exception", Vendor::nvidia, "", "collect_env"},
             {"RuntimeError: The NVIDIA driver on your system is too old (found version 11040).",
              "framework_runtime_exception", Vendor::nvidia, "", "collect_env"}}) {
        const auto diagnosis = told_by(std::string(one.words) + "\n");
        EXPECT_EQ(gist_of(diagnosis), one.gist) << one.words;
        EXPECT_EQ(diagnosis.incident.vendor, one.vendor) << one.words;
        ASSERT_TRUE(diagnosis.finding) << one.words;
        EXPECT_EQ(diagnosis.finding->blame.component, one.device) << one.words;
        EXPECT_THAT(results::diagnosis::next_looks(diagnosis), testing::Contains(HasSubstr(one.next)))
            << one.words;
    }
}

// The device that most lines accuse, not the one that complained first.
TEST(LogVendors, ACrashOfTheirDevicesIsNotLookedAtWithCudasTools) {
    const auto tpu = told_by(
        "E0601 09:00:00.000001 7 tpu_util.cc:4] INTERNAL: Core halted unexpectedly: INTERNAL: Accelerator "
        "device halted prematurely. Node 0 halted unexpectedly at tag:pc TensorCoreSequencer:1:0x175\n");
    EXPECT_EQ(tpu.incident.vendor, Vendor::tpu);
    EXPECT_THAT(next_of(tpu), HasSubstr("TPU_"));
    const auto habana =
        told_by("[rank3]: RuntimeError: synStatus=26 [Generic failure] Device acquire failed.\n");
    EXPECT_EQ(habana.incident.vendor, Vendor::habana);
    EXPECT_THAT(next_of(habana), HasSubstr("hl-smi"));
    const auto intel = told_by("[rank3]: RuntimeError: UR error: 45 (UR_RESULT_ERROR_INVALID_ARGUMENT)\n");
    EXPECT_EQ(intel.incident.vendor, Vendor::intel);
    EXPECT_THAT(next_of(intel), HasSubstr("xpu-smi"));
}

TEST(LogVendors, TheDeviceIsTheOneThatMostLinesAccuse) {
    const std::string broken =
                          "[ 9.2] amdgpu 0000:9d:00.0: {1}socket: 6, 20 new uncorrectable hardware errors\n",
                      again =
                          "[ 9.3] amdgpu 0000:9d:00.0: {2}socket: 6, 35 new uncorrectable hardware errors\n";
    const auto diagnosis = told_by(
        "[ 9.1] amdgpu 0000:bd:00.0: {1}uncorrectable hardware error(ERREVENT_ATHUB_INTERRUPT) detected!\n" +
        broken + again);
    EXPECT_EQ(diagnosis.finding->blame.component, "GPU 0000:9d:00.0");
    EXPECT_THAT(diagnosis.finding->says, HasSubstr("9d:00.0"));
}

// ── Causes, and the answer

// Any dictionary may lack a key. Only a key in capitals is the name of a variable.
TEST(LogCauses, AMissingKeyAloneIsNone) {
    EXPECT_THAT(told_by(failing("", "KeyError: 'warmup'")).causes, IsEmpty());
    EXPECT_THAT(told_by(failing("", "KeyError: 'en-de'")).causes, IsEmpty());
    const auto variable = told_by(failing("", "KeyError: 'NODE_LIST'"));
    ASSERT_FALSE(variable.causes.empty());
    EXPECT_EQ(variable.causes.front().cause, "misconfigured_environment_variable");
}

TEST(LogCauses, AreNotNamedWhereNoLineSpeaksForOne) {
    for (const char* words : {"ValueError: covariance is not positive", "Segmentation fault (core dumped)",
                              "RuntimeError: CUDA error: an illegal memory access was encountered",
                              "RuntimeError: mat1 and mat2 shapes cannot be multiplied (8x512 and 513x10)",
                              "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.",
                              "RuntimeError: CUDA error: device-side assert triggered",
                              "ConnectionResetError: [Errno 104] Connection reset by peer",
                              "OSError: [Errno 28] No space left on device",
                              "FileNotFoundError: [Errno 2] No such file or directory: '/data/x.bin'",
                              "TypeError: 'NoneType' object is not subscriptable", "loss is nan",
                              "ModuleNotFoundError: No module named 'flash'",
                              "RuntimeError: NCCL error in: x.cpp:1, unhandled system error"}) {
        const auto diagnosis = told_by(failing("", words));
        EXPECT_THAT(diagnosis.causes, IsEmpty()) << words;
        EXPECT_THAT(diagnosis.fixes, IsEmpty()) << words;
    }
    IncidentFiles files;
    files.put("job.log", "Segmentation fault (core dumped)\n");
    EXPECT_THAT(files.answered(), HasSubstr("no line speaks for a cause"));
    EXPECT_EQ(told_by(failing("", "ZeroDivisionError: division by zero")).causes.front().cause,
              "numeric_edge_case_error");
}

// A cause is named with the words that speak for it, and --more has the whole line.
TEST(LogCauses, AreNamedWithTheirLine) {
    IncidentFiles files;
    files.put("job.log", failing("[rank3]: ", "RuntimeError: CUDA error: invalid device ordinal"));
    EXPECT_THAT(files.answered(),
                HasSubstr("cause  rank_or_device_derivation_error (\"invalid device ordinal\")"));
    EXPECT_THAT(files.answered({.more = true, .similar = {}}),
                HasSubstr("the log: RuntimeError: CUDA error: invalid device ordinal"));
    const auto diagnosis = files.diagnosed();
    ASSERT_EQ(diagnosis.causes.size(), 1u);
    EXPECT_EQ(diagnosis.incident.spoken.size(), 1u);
}

// One package refuses what another passes: they do not fit. In the job's own program it is a slip.
TEST(LogCauses, AnArgumentThatIsRefusedDependsOnWhoPassedIt) {
    const auto raised = [](const std::string& path) {
        return told_by("Traceback (most recent call last):\n  File \"" + path +
                       "\", line 7, in f\nTypeError: g() got an unexpected keyword argument 'device_map'\n");
    };
    const auto packages = raised("/v/lib/python3.11/site-packages/m/x.py");
    ASSERT_FALSE(packages.causes.empty());
    EXPECT_EQ(packages.causes.front().cause, "dependency_or_hardware_mismatch");
    EXPECT_THAT(raised("/home/u/train.py").causes, IsEmpty());
}

TEST(LogReading, ADictionaryAtTheHeadOfALogIsNoDump) {
    const std::string error = "[rank1]: RuntimeError: CUDA out of memory\n";
    for (const char* head :
         {"{'lr': 1e-4, 'layers': 8}\n", "{\n  \"lr\": 1e-4,\n  \"layers\": 8\n}\n", "{\"lr\": 1e-4}\n"})
        EXPECT_EQ(gist_of(told_by(head + error)), "device_out_of_memory of 1") << head;
    const auto alone = IncidentFiles().put("settings.json", "{\"lr\": 1e-4}").imported();
    ASSERT_FALSE(alone);
    EXPECT_THAT(alone.error().text(), HasSubstr("a JSON object"));
    const auto empty = IncidentFiles().put("job.log", "").imported();
    ASSERT_FALSE(empty);
    EXPECT_THAT(empty.error().text(), HasSubstr("it is empty"));
}

// Loguru parts the frames of a traceback by blank lines and marks one.
TEST(LogReading, ATracebackMayHaveBlankLines) {
    const auto diagnosis = told_by(
        "2026-01-31 10:00:00.123 | ERROR    | __main__:<module>:88 - An error has been caught:\n"
        "Traceback (most recent call last):\n\n> File \"/job/train.py\", line 88, in <module>\n    main()\n"
        "    └ <function main at 0x7f>\n\n  File \"/job/train.py\", line 40, in main\n"
        "    x = batch[\"ids\"]\n\nValueError: the batch has no ids\n\nstopping\n");
    ASSERT_TRUE(diagnosis.finding);
    EXPECT_EQ(diagnosis.incident.user_code, "train.py, line 40");
    EXPECT_EQ(diagnosis.finding->says, "ValueError: the batch has no ids");
}

TEST(LogReading, ADamagedArchiveIsNotCalledEmpty) {
    IncidentFiles files;
    files.put("job.log.gz", std::string("\x1f\x8b\x08\x00", 4) + "no gzip");
    const auto read = files.imported();
    ASSERT_FALSE(read);
    EXPECT_THAT(read.error().text(), HasSubstr("damaged"));
}

// One directory without rights among the logs of a job hides the others no longer.
TEST(LogReading, ADirectoryWithoutRightsIsLeftOutAlone) {
    namespace fs = std::filesystem;
    IncidentFiles files;
    files.put("logs/rank_0.log", lines_of_work(3)).put("logs/closed/rank_1.log", lines_of_work(3));
    const bool root = ::geteuid() == 0;
    fs::permissions(files.path("logs").parent_path(), fs::perms::all);
    fs::permissions(files.path("logs/closed"), fs::perms::none);
    if (root) {
        ASSERT_EQ(::seteuid(65534), 0);
    }
    const auto read = results::importers::import_paths({files.path("logs")});
    const auto closed = results::importers::import_paths({files.path("logs/closed")});
    if (root) {
        ASSERT_EQ(::seteuid(0), 0);
    }
    fs::permissions(files.path("logs/closed"), fs::perms::all);
    ASSERT_TRUE(read) << read.error().text();
    EXPECT_TRUE(std::any_of(read->files.begin(), read->files.end(), [](const auto& one) {
        return one.trouble == "it cannot be listed: Permission denied";
    }));
    ASSERT_FALSE(closed);
    EXPECT_THAT(closed.error().text(), HasSubstr("cannot be listed: Permission denied"));
}

TEST(LogReading, UnpacksAMessageOfSeveralLines) {
    EXPECT_EQ(gist_of(told_by(
                  "{\"timestamp\": \"2025-01-31T10:00:00Z\", \"global_rank\": 3, \"message\": \"begun\"}\n"
                  "{\"timestamp\": \"2025-01-31T10:00:05Z\", \"global_rank\": 3, \"message\": "
                  "\"Traceback (most recent call last):\\n  File \\\"/job/t.py\\\", line 4, in f\\n"
                  "ModuleNotFoundError: No module named 'flash'\"}\n")),
              "import_or_symbol_error of 3");
}

// What, who, why with three lines, what next: a screen holds it, whatever the log is.
TEST(LogAnswers, HasAtMostTwelveLines) {
    std::string many;
    for (int rank = 0; rank < 64; ++rank)
        many += failing("[rank" + std::to_string(rank) + "]: ",
                        "RuntimeError: a message of several lines\n[rank" + std::to_string(rank) +
                            "]: CUDA error: an illegal memory access was encountered\n[rank" +
                            std::to_string(rank) + "]: " + std::string(2'000, 'x'));
    for (const std::string& log :
         {many, failing("", "torch.OutOfMemoryError: CUDA out of memory."), std::string("nothing\n"),
          std::string("slurmstepd: error: *** JOB 7 ON n3 CANCELLED AT 2025-02-03T04:05:06 ***\n"),
          std::string("Training complete\n"),
          std::string("NVRM: Xid (PCI:0000:41:00): 79, pid=9, GPU has fallen off the bus.\n")}) {
        IncidentFiles files;
        files.put("job.log", log);
        const std::string answer = files.answered();
        EXPECT_LE(std::count(answer.begin(), answer.end(), '\n'), 12) << answer;
        for (std::size_t at = 0; at < answer.size(); at = answer.find('\n', at) + 1)
            EXPECT_LE(answer.find('\n', at) - at, 260u) << answer.substr(at, 300);
        const std::string all = files.answered({.more = true, .similar = {}});
        EXPECT_THAT(answer + all, Not(HasSubstr("rank -1")));
        if (files.diagnosed().finding) {
            EXPECT_GT(all.size(), answer.size());
        }
    }
}

}  // namespace
}  // namespace deadrank::tests
