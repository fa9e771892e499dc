// Goal: a failed job is never called healthy, whatever launcher and wrapping its log has; what is not
// understood is "unknown" with its count; and the answer names the right class and rank where the log shows
// them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/results/incidents/incident_files.h"

namespace deadrank::tests {
namespace {

using testing::HasSubstr;
using testing::Not;

struct Wrapping {
    const char* name;
    std::string log, gist;
};
void PrintTo(const Wrapping& kind, std::ostream* out) { *out << kind.name; }

std::string timed_out(const std::string& before, int rank,
                      const std::string& call = "ALLREDUCE, NumelIn=1024") {
    return before + "[Rank " + std::to_string(rank) +
           "] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=71, OpType=" + call +
           ", NumelOut=1024, Timeout(ms)=600000) ran for 600021 milliseconds before timing out.\n";
}

// The twelve shapes of a failed job's log that were once called healthy.
class OnceCalledHealthy : public testing::TestWithParam<Wrapping> {};

TEST_P(OnceCalledHealthy, IsToldNow) {
    const auto diagnosis = told_by(GetParam().log);
    EXPECT_FALSE(diagnosis.healthy());
    EXPECT_EQ(gist_of(diagnosis), GetParam().gist);
}

INSTANTIATE_TEST_SUITE_P(
    Wrappings, OnceCalledHealthy,
    testing::Values(
        Wrapping{
            "RankPrefixedTraceback",
            "[rank3]: Traceback (most recent call last):\n[rank3]:   File \"/job/train.py\", line 8, in "
            "<module>\n"
            "[rank3]:     loss.backward()\n[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to "
            "allocate "
            "2.00 GiB.\n",
            "device_out_of_memory of 3"},
        Wrapping{
            "TracebackWithoutARankClaimedByTorchrun",
            "Traceback (most recent call last):\n  File \"/job/model.py\", line 3, in f\n"
            "ModuleNotFoundError: No module named 'flash'\n"
            "============================================================\ntrain.py FAILED\n"
            "------------------------------------------------------------\nFailures:\n  <NO_OTHER_FAILURES>\n"
            "------------------------------------------------------------\nRoot Cause (first observed "
            "failure):\n"
            "[0]:\n  time      : 2025-02-03_04:05:06\n  host      : n7\n  rank      : 5 (local_rank: 1)\n"
            "  exitcode  : 1 (pid: 812)\n  error_file: <N/A>\n"
            "  traceback : To enable traceback see: a page\n"
            "============================================================\n",
            "import_or_symbol_error of 5"},
        Wrapping{
            "DeepSpeedLauncher",
            "[2025-01-02 03:04:05,100] [INFO] [launch.py:319:sigkill_handler] Killing subprocess 71\n"
            "[2025-01-02 03:04:06,100] [ERROR] [launch.py:325:sigkill_handler] ['/usr/bin/python3', '-u', "
            "'train.py', '--local_rank=0'] exits with return code = -9\n",
            "host_resource_exhaustion of 0"},
        Wrapping{
            "SlurmOutOfMemory",
            "slurmstepd: error: Detected 1 oom_kill event in StepId=77.0. Some of the step tasks have been "
            "OOM "
            "Killed.\nsrun: error: n12: task 6: Out Of Memory\n",
            "host_resource_exhaustion of 6"},
        Wrapping{"OldWatchdog", timed_out("[E ProcessGroupNCCL.cpp:828] ", 2), "collective_timeout_abort"},
        Wrapping{"RayWorkers",
                 timed_out("\x1b[36m(Worker pid=41, ip=10.1.0.2)\x1b[0m [rank4]:[E101 00:10:00.000000000 "
                           "ProcessGroupNCCL.cpp:629] ",
                           4),
                 "collective_timeout_abort"},
        Wrapping{"KubernetesEvent",
                 "LAST SEEN   TYPE      REASON      OBJECT           MESSAGE\n2m   Warning   OOMKilled   "
                 "pod/trainer-3   container pytorch was killed\n",
                 "host_resource_exhaustion"},
        Wrapping{"Mpirun",
                 "Primary job  terminated normally, but 1 process returned\na non-zero exit code.\n"
                 "mpirun noticed that process rank 5 with PID 0 on node n3 exited on signal 11 (Segmentation "
                 "fault).\n",
                 "native_crash_or_illegal_access of 5"},
        Wrapping{
            "KernelWithoutDate",
            "[ 8812.400001] NVRM: Xid (PCI:0000:41:00): 79, pid=918, name=python, GPU has fallen off the "
            "bus.\n",
            "device_fault_reported"},
        Wrapping{"JaxCoordination",
                 "2025-05-06 07:08:09.123456: E external/xla/coordination_service.cc:1170] "
                 "/job:jax_worker/replica:0/"
                 "task:2 has been set to ERROR in coordination service: UNAVAILABLE: Task "
                 "/job:jax_worker/replica:0/"
                 "task:2 heartbeat timeout.\n",
                 "collective_timeout_abort of 2"},
        Wrapping{"TaggedOutput",
                 "[1,2]<stderr>:terminate called after throwing an instance of 'std::logic_error'\n"
                 "[1,2]<stderr>:  what():  cudaEventQuery failed: an illegal memory access was encountered\n",
                 "native_crash_or_illegal_access of 2"},
        Wrapping{"NothingUnderstood", "xyzzy: the frobnicator gave up\nplugh\n", "unknown"}),
    [](const auto& one) { return std::string(one.param.name); });

TEST(LogAnswers, CountsWhatWasNotUnderstoodAndShowsWhatSoundsBad) {
    IncidentFiles files;
    std::string log;
    for (int i = 0; i < 1500; ++i) log += "tick " + std::to_string(i) + " of the gizmo\n";
    log +=
        "gizmo 7 failed to mesh\nTraceback (most recent call last):\n  File \"/opt/x/launch.py\", line 4, in "
        "go\n";
    files.put("job.log", log);
    const auto diagnosis = files.diagnosed();
    EXPECT_EQ(diagnosis.incident.outcome, results::diagnosis::IncidentOutcome::unknown);
    const std::string answer = files.answered();
    EXPECT_THAT(answer,
                HasSubstr("unknown: 1,503 lines read, 1,501 not understood, 1 traceback without a rank"));
    EXPECT_THAT(answer, HasSubstr("gizmo 7 failed to mesh"));
    EXPECT_THAT(answer, Not(HasSubstr("tick 3")));
}

// "Completed" is what a line proves: a log that just ends proves nothing.
TEST(LogAnswers, CallsAJobCompletedOnlyWithProof) {
    EXPECT_EQ(gist_of(told_by("epoch 1 loss 0.5\nepoch 2 loss 0.4\n")), "unknown");
    EXPECT_EQ(gist_of(told_by(
                  "epoch 2 loss 0.4\nINFO:torch.distributed.elastic.agent.server.api:[default] "
                  "worker group successfully finished. Waiting 300 seconds for other agents to finish.\n")),
              "completed");
    EXPECT_EQ(gist_of(told_by(
                  "***** train metrics *****\n[2025-01-02 03:04:06,100] [ERROR] "
                  "[launch.py:325:sigkill_handler] ['python3', 'train.py'] exits with return code = 1\n")),
              "unknown");
}

TEST(LogAnswers, KnowsAJobThatSomebodyStopped) {
    EXPECT_EQ(gist_of(told_by("epoch 1 loss 0.5\nslurmstepd: error: *** JOB 7 ON n3 CANCELLED AT "
                              "2025-02-03T04:05:06 DUE TO TIME LIMIT ***\n")),
              "stopped");
}

// Whose error stands in its own traceback is nearer to the cause than those who waited for it, though they
// were read first.
TEST(LogAnswers, AnErrorOfOnesOwnBeatsWaiting) {
    const auto diagnosis = told_by(
        timed_out("[rank0]:[E101 00:10:00.000000000 ProcessGroupNCCL.cpp:629] ", 0) +
        "[rank2]: Traceback (most recent call last):\n[rank2]:   File \"/job/train.py\", line 9, in step\n"
        "[rank2]: RuntimeError: CUDA error: an illegal memory access was encountered\n");
    EXPECT_EQ(gist_of(diagnosis), "native_crash_or_illegal_access of 2");
}

// c10d warns of every address that it tries in vain; the job goes on with the next one.
TEST(LogAnswers, AWarningIsNoErrorOfOnesOwn) {
    const std::string warned =
        "[W socket.cpp:663] [c10d] The client socket has failed to connect to [n1]:29500 (errno: 22 - "
        "Invalid argument).\n";
    EXPECT_EQ(gist_of(told_by(warned +
                              timed_out("[rank0]:[E101 00:10:00.000000000 ProcessGroupNCCL.cpp:629] ", 0))),
              "collective_timeout_abort");
    EXPECT_EQ(gist_of(told_by(warned)), "communication_setup_failure");
}

TEST(LogAnswers, NamesTheRankThatSaysNothingWhileTheOthersTimeOut) {
    std::string log = "world_size=8\n";
    for (const int rank : {0, 1, 2, 3, 4, 6, 7})
        log += timed_out("[rank" + std::to_string(rank) + "]:[E101 00:10:00.00000000" + std::to_string(rank) +
                             " ProcessGroupNCCL.cpp:629] ",
                         rank);
    const auto diagnosis = told_by(log);
    EXPECT_EQ(gist_of(diagnosis), "collective_timeout_abort of 5");
    EXPECT_THAT(diagnosis.finding->says, HasSubstr("set-up was over"));
    EXPECT_TRUE(diagnosis.causes.empty()) << "it may have died, or gone another way";
}

TEST(LogAnswers, BlamesNobodyWhereTheWorldIsNotKnown) {
    std::string log;
    for (const int rank : {1, 2, 3})
        log += timed_out(
            "[rank" + std::to_string(rank) + "]:[E101 00:10:00.000000000 ProcessGroupNCCL.cpp:629] ", rank);
    EXPECT_EQ(gist_of(told_by(log)), "collective_timeout_abort");
}

TEST(LogAnswers, NamesTheRankThatWaitsInAnotherCall) {
    std::string log;
    for (const int rank : {0, 1, 3})
        log += timed_out(
            "[rank" + std::to_string(rank) + "]:[E101 00:10:00.000000000 ProcessGroupNCCL.cpp:629] ", rank);
    log +=
        timed_out("[rank2]:[E101 00:10:00.000000000 ProcessGroupNCCL.cpp:629] ", 2, "BROADCAST, NumelIn=512");
    const auto diagnosis = told_by(log);
    EXPECT_EQ(gist_of(diagnosis), "collective_timeout_abort of 2");
    EXPECT_EQ(diagnosis.causes.front().cause, "communication_order_divergence");
}

TEST(LogAnswers, NamesTheRankThatHadLeftBeforeTheOthersRang) {
    const std::string report =
        "============================================================\nt.py FAILED\nRoot Cause (first "
        "observed failure):\n"
        "[0]:\n  time      : 2025-01-01_00:00:01\n  host      : n1\n  rank      : 6 (local_rank: 2)\n  "
        "exitcode  : 1 "
        "(pid: 9)\n============================================================\n";
    const auto diagnosis =
        told_by(report + timed_out("[rank0]:[E101 00:10:00.000000000 ProcessGroupNCCL.cpp:629] ", 0));
    EXPECT_EQ(gist_of(diagnosis), "collective_timeout_abort of 6");
    EXPECT_EQ(diagnosis.causes.front().cause, "unpropagated_rank_failure");
}

TEST(LogAnswers, ReadsWhoDidNotComeToAMonitoredBarrier) {
    EXPECT_EQ(gist_of(told_by(
                  "RuntimeError: [Rank 0]: Ranks 4, 5, 7 failed to pass monitoredBarrier in 30000 ms\n")),
              "collective_timeout_abort of 4,5,7");
}

TEST(LogAnswers, SaysThatASlipIsTheUsersOwn) {
    IncidentFiles files;
    files.put("job.log",
              "[rank1]: Traceback (most recent call last):\n[rank1]:   File \"/home/u/train.py\", line 41, "
              "in main\n"
              "[rank1]:     batch[key]\n[rank1]: KeyError: 'labels'\n");
    EXPECT_EQ(gist_of(files.diagnosed()), "framework_runtime_exception of 1");
    EXPECT_THAT(files.answered(), HasSubstr("an error in the job's own program (train.py, line 41)"));
    const auto library = told_by(
        "Traceback (most recent call last):\n  File \"/home/u/train.py\", line 41, in main\n"
        "  File \"/v/lib/python3.11/site-packages/torch/nn/m.py\", line 7, in f\n"
        "AttributeError: 'NoneType' object has no attribute 'x'\n");
    EXPECT_EQ(library.incident.user_code, "");
}

TEST(LogAnswers, AnswersWhatWhoWhyHowSureAndWhatNext) {
    IncidentFiles files;
    files.put("job.log", "[rank3]: RuntimeError: CUDA error: invalid device ordinal\n");
    const std::string answer = files.answered(), all = files.answered({.more = true, .similar = {}});
    for (const char* part : {"what", "communication_setup_failure", "who", "rank 3", "why", "lines", "cause",
                             "next", "sure", "high", "--more"})
        EXPECT_THAT(answer, HasSubstr(part));
    for (const char* part :
         {"communication_setup_failure", "lines", "likely causes", "look next", "fix patterns"})
        EXPECT_THAT(all, HasSubstr(part));
}

// A full disk while a checkpoint is saved is a failed save, and a shape that does not fit while one is loaded
// is a layout that does not fit.
TEST(LogAnswers, ReadsAnErrorByWhatTheProgramWasDoing) {
    EXPECT_EQ(gist_of(told_by("Traceback (most recent call last):\n  File \"/l/site-packages/x/t.py\", line "
                              "2, in save_checkpoint\n"
                              "OSError: [Errno 28] No space left on device\n")),
              "checkpoint_save_failure");
    EXPECT_EQ(
        gist_of(told_by("Traceback (most recent call last):\n  File \"/l/site-packages/x/t.py\", line 2, in "
                        "load_checkpoint\n"
                        "RuntimeError: The size of tensor a (8) must match the size of tensor b (4)\n")),
        "reshard_restore_failure");
}

// torchrun names each worker that it ends: as many there are, and one of them did not ring.
TEST(LogAnswers, NamesTheSilentOneOfAnAgentsWorkers) {
    std::string log;
    for (const int rank : {0, 2, 3})
        log += timed_out(
            "[rank" + std::to_string(rank) + "]:[E101 00:10:00.000000000 ProcessGroupNCCL.cpp:607] ", rank);
    for (const int pid : {411, 412, 413})
        log +=
            "W0101 00:10:02.148000 5 torch/distributed/elastic/multiprocessing/api.py:858] Sending process " +
            std::to_string(pid) + " closing signal SIGTERM\n";
    EXPECT_EQ(gist_of(told_by(log)), "collective_timeout_abort");
    log +=
        "E0101 00:10:03.172000 5 torch/distributed/elastic/multiprocessing/api.py:833] failed (exitcode: -6) "
        "local_rank: 3 (pid: 414) of binary: /usr/bin/python3\n";
    EXPECT_EQ(gist_of(told_by(log)), "collective_timeout_abort of 1");
}

// What a program logs and survives is no failure; what it logs last may be one.
TEST(LogAnswers, AnExceptionThatWasLoggedIsOneThatWasCaught) {
    const std::string logged =
        "ERROR:2025-03-02 11:56:34,332:Traceback (most recent call last):\n  File \"/job/tools.py\", line 5, "
        "in "
        "parse\n    a, b = answer\nTypeError: cannot unpack non-iterable NoneType object\n";
    std::string after;
    for (int step = 0; step < 40; ++step) after += "step " + std::to_string(step) + " of the job\n";
    EXPECT_EQ(gist_of(told_by("step 0\n" + logged + after)), "unknown");
    EXPECT_EQ(gist_of(told_by(after + logged)), "framework_runtime_exception");
    EXPECT_EQ(gist_of(told_by(logged + after +
                              "[2025-01-02 03:04:06,100] [ERROR] [launch.py:325:sigkill_handler] ['python3', "
                              "'train.py'] exits with return code = 1\n")),
              "framework_runtime_exception");
}

TEST(LogAnswers, WhatAStreamSaysAfterALoggedExceptionShowsThatItLives) {
    std::string log;
    for (const char* line : {"ERROR:2025-03-02 11:56:34,332:Traceback (most recent call last):",
                             "  File \"/job/t.py\", line 5, in p",
                             "TypeError: cannot unpack non-iterable NoneType object", "", "next episode"})
        log += std::string("(Actor pid=71, ip=10.0.0.4) ") + line + "\n";
    EXPECT_EQ(gist_of(told_by(log)), "unknown");
}

TEST(LogAnswers, AScriptThatLacksItsProgramFailsIfNothingFollows) {
    const std::string lacking = "/var/spool/job7/slurm_script: line 40: accelerate: command not found\n";
    std::string work;
    for (int step = 0; step < 40; ++step) work += "iteration " + std::to_string(step) + " loss 0.5\n";
    EXPECT_EQ(gist_of(told_by("loading modules\n" + lacking)), "build_or_install_failure");
    EXPECT_EQ(gist_of(told_by(lacking + work +
                              "slurmstepd: error: *** JOB 7 ON n3 CANCELLED AT "
                              "2025-02-03T04:05:06 ***\n")),
              "stopped");
}

TEST(LogAnswers, NewsIsNoComplaint) {
    EXPECT_EQ(
        gist_of(told_by("[INFO|2025-01-02 03:04:05] loader.heads:157 >> path (/m) does not appear to have a "
                        "file named value_head.bin\nslurmstepd: error: *** JOB 7 ON n3 CANCELLED AT "
                        "2025-02-03T04:05:06 ***\n")),
        "stopped");
    EXPECT_EQ(gist_of(told_by("INFO:root:[1, 40/90] train_loss: 1.5\nINFO:root:[1, 41/90] loss: nan\n")),
              "loss_nan_or_divergence");
    EXPECT_EQ(gist_of(told_by("Error: no answer was found in the reply\nstep 2\n")), "unknown");
}

struct Meaning {
    const char *words, *symptom, *cause;
};

// One line of each family, with numbers of our own.
TEST(LogAnswers, KnowsTheFamiliesOfMessages) {
    for (const Meaning& one :
         {Meaning{
              "ray.exceptions.RayTaskError(ActorUnavailableError): ray::Runner.run() (pid=7, ip=10.0.0.2)",
              "host_resource_exhaustion", ""},
          {"ValueError: The hostname of the rendezvous endpoint ':0' must be a dot-separated list of labels",
           "communication_setup_failure", "misconfigured_environment_variable"},
          {"ValueError: sharding requires PyTorch >= 2.1.0", "framework_runtime_exception",
           "dependency_or_hardware_mismatch"},
          {"RuntimeError: self must be a matrix, got 3-D tensor", "tensor_shape_or_dtype_error", ""},
          {"RuntimeError: stack expects each tensor to be equal size, but got [3, 8] at entry 0",
           "tensor_shape_or_dtype_error", ""},
          {"AssertionError: offloading is only supported with stage 2. Please set \"stage\": 2",
           "framework_runtime_exception", "misconfigured_resource_or_distributed_settings"},
          {"ZeroDivisionError: division by zero", "framework_runtime_exception", "numeric_edge_case_error"},
          {"AttributeError: 'Block' object has no attribute 'gate'", "framework_runtime_exception", ""}}) {
        const auto diagnosis = told_by(
            "Traceback (most recent call last):\n  File \"/v/lib/python3.11/site-packages/m/x.py\", line 7, "
            "in f\n" +
            std::string(one.words) + "\n");
        EXPECT_EQ(gist_of(diagnosis), one.symptom) << one.words;
        if (*one.cause == 0) continue;
        EXPECT_EQ(diagnosis.causes.front().cause, one.cause) << one.words;
    }
}

// A store that could not listen leaves no process group: the first to speak of the trouble knows its cause.
TEST(LogAnswers, TheFirstOfTheSameTroubleKnowsItsCause) {
    const auto diagnosis = told_by(
        "[E socket.cpp:500] [c10d] The server socket has failed to listen on any local network address.\n"
        "Traceback (most recent call last):\n  File \"/v/lib/python3.11/site-packages/m/x.py\", line 7, in "
        "f\n"
        "ValueError: Default process group has not been initialized, please call init_process_group.\n");
    EXPECT_EQ(gist_of(diagnosis), "communication_setup_failure");
    EXPECT_EQ(diagnosis.causes.front().cause, "rendezvous_store_or_endpoint_error");
}

// NCCL prints its version once for the whole job.
TEST(LogAnswers, AVersionThatOneRankPrintsIsNoSkew) {
    const auto start = [](int rank, int pid) {
        return std::to_string(rank) + ": n1:" + std::to_string(pid) + ":" + std::to_string(pid) +
               " [0] NCCL INFO comm 0x1 rank " + std::to_string(rank) +
               " nranks 4 cudaDev 0 busId 1000 - Init START\n";
    };
    const auto diagnosis = told_by(start(0, 50) + "0: NCCL version 2.8.3+cuda11.1\n" + start(1, 51) +
                                   start(2, 52) + start(3, 53) +
                                   "2: n1:52:60 [0] include/socket.h:406 NCCL WARN Connect to "
                                   "10.0.0.9<42427> failed : No route to host\n");
    EXPECT_EQ(gist_of(diagnosis), "communication_setup_failure of 2");
    EXPECT_NE(diagnosis.causes.front().cause, "version_skew_across_ranks");
}

// A log without any stamp has no times.
TEST(LogAnswers, ShowsNoTimeWhereNoneIsKnown) {
    const std::string words =
        "[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n";
    const auto answer = [](const std::string& log) {
        return IncidentFiles().put("job.log", log).answered({.more = true, .similar = {}});
    };
    EXPECT_THAT(answer(words), Not(HasSubstr(" ns ")));
    EXPECT_THAT(answer("[2025-01-02 03:04:05,100] [INFO] begun\n" + words), HasSubstr(" 0 ns "));
}

}  // namespace
}  // namespace deadrank::tests
