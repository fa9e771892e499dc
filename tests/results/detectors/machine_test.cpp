// tests/results/detectors/machine_test.cpp — Goal: memory, devices, hosts, crashes and slowness are told with
// the rank, or with none where none is to blame.
#include <cmath>

#include "tests/results/detectors/run_detector.h"

namespace deadrank::tests {
namespace {

// A job in which ranks complain of a lost connection to a host. The library prints each error twice.
EvidenceBuilder complaining(Rank ranks, std::initializer_list<std::pair<Rank, int>> of_hosts) {
    EvidenceBuilder job = three_steps(ranks);
    for (const auto& [rank, host] : of_hosts) {
        for (const std::string_view says :
             {"remote process exited or there was a network error", "unwinding"}) {
            job.add(rank, CommError{1, Code::remote_error,
                                    job.text(fmt::format("NCCL error: {}, node{}", says, host))});
        }
    }
    return job;
}

// Goal: of a link that one side alone complains of, the other side is not blamed for it.
TEST(PeerConnection, BlamesBothEndsOfALinkThatOneSideComplainsOf) {
    const Finding one = found_by("peer_connection", complaining(16, {{9, 0}}).watched());
    EXPECT_EQ(one.blame.nodes, (std::vector<std::int32_t>{0, 2})) << one.says;
    EXPECT_EQ(one.blame.component, "link 0-2");
    EXPECT_NE(one.says.find("either may have broken it"), std::string::npos) << one.says;
    const Finding mutual = found_by("peer_connection", complaining(16, {{9, 0}, {1, 2}, {2, 2}}).watched());
    EXPECT_EQ(mutual.blame.nodes, (std::vector<std::int32_t>{0, 2})) << mutual.says;
}

TEST(PeerConnection, BlamesTheNodeThatSeveralOthersComplainOf) {
    const Finding accused = found_by("peer_connection", complaining(16, {{9, 1}, {0, 1}}).watched());
    EXPECT_EQ(accused.blame.nodes, (std::vector<std::int32_t>{1})) << accused.says;
    const Finding common = found_by("peer_connection", complaining(16, {{5, 2}, {6, 0}}).watched());
    EXPECT_EQ(common.blame.nodes, (std::vector<std::int32_t>{1}))
        << "it complains of two, who have nothing else in common: " << common.says;
}

TEST(DeviceMemory, NamesTheFirstRankAndTheBytes) {
    EvidenceBuilder job(4);
    job.start().world().step(0).add(3, StepBegin{1}).add(3, MemoryOom{4096, 1024, job.text("device")});
    job.log(3,
            "Traceback (most recent call last):\ntorch.OutOfMemoryError: CUDA out of memory. Tried to "
            "allocate 4 KiB");
    const Finding found = found_by("device_memory", job.watched());
    EXPECT_EQ(found.blame.ranks, ranks({3}));
    EXPECT_EQ(found.blame.step, 1);
    EXPECT_NE(found.says.find("4096 bytes"), std::string::npos) << found.says;
}

// Of several that failed the first one's numbers, and after a restart those of that attempt.
TEST(DeviceMemory, TellsTheNumbersOfTheRankAndTheAttempt) {
    EvidenceBuilder job(4);
    job.start().world().step(0).add(1, MemoryOom{4096, 1024, job.text("device")});
    job.add(3, MemoryOom{8192, 1024, job.text("device")}).after(10ms).exits(1, 1, 0).exits(3, 1, 0);
    job.after(1s).add(no_rank, Restart{1}).after(1s).start().world().step(0);
    job.add(1, MemoryOom{512, 256, job.text("device")});
    const auto findings = asked("device_memory", job.watched());
    ASSERT_EQ(findings.size(), 2u);
    EXPECT_NE(findings[0].says.find("4096 bytes"), std::string::npos) << findings[0].says;
    EXPECT_NE(findings[1].says.find("512 bytes"), std::string::npos) << findings[1].says;
}

TEST(HostExhaustion, ReadsErrorsAndSeesALeakBeforeItEnds) {
    EvidenceBuilder error(4);
    error.start().log(
        2, "RuntimeError: Error while creating shared memory segment /dev/shm/nccl-1 (size 9637888)");
    EXPECT_EQ(found_by("host_exhaustion", error.watched()).blame.ranks, ranks({2}));

    EvidenceBuilder leak(8);
    leak.start();
    for (int look = 0; look < 12; ++look) {
        leak.after(1s)
            .add(4, HostSample{-1, -1, 100 + 50 * look, 1000, -1})
            .add(0, HostSample{-1, -1, 100, 1000, -1});
    }
    const Finding found = found_by("host_exhaustion", leak.watched());
    EXPECT_EQ(found.blame.nodes, std::vector<std::int32_t>{1});
    EXPECT_LT(found.at, 12s) << "it need not run out first";
}

// CUDA is out of memory in both cases; only one of them is the device's.
TEST(HostExhaustion, TellsPinnedHostMemoryFromTheDevices) {
    EvidenceBuilder job(4);
    job.start()
        .add(2, MemoryOom{1 << 30, 1 << 20, job.text("pinned")})
        .log(2, "torch.AcceleratorError: CUDA error: out of memory (cudaHostAlloc of 1073741824 bytes)");
    const Finding found = found_by("host_exhaustion", job.watched());
    EXPECT_EQ(found.blame.ranks, ranks({2}));
    EXPECT_NE(found.says.find("pinned host memory"), std::string::npos) << found.says;
    expect_silence_of("device_memory", job.watched());
}

TEST(HostExhaustion, IsSilentOnACacheThatFillsAndStays) {
    EvidenceBuilder job(4);
    job.start();
    for (int look = 0; look < 20; ++look) {
        job.after(1s).add(0, MemorySample{1, 0, look < 3 ? 100 * look : 300, 1000});
    }
    expect_silence_of("host_exhaustion", job.watched());
}

// Two processes of one node: what one of them holds grows by a tenth of what it may, the other's goes to and
// fro.
TEST(HostExhaustion, NamesTheRankWhoseProcessGrows) {
    EvidenceBuilder job(2);
    job.start();
    for (Rank rank = 0; rank < 2; ++rank)
        job.add(rank, RankConfig{job.text("host_memory"), job.text("10000")});
    const auto look = [&](Rank rank, double held) {
        job.add(rank, ValueSample{0, job.text("resident_memory"), held, std::nan("")});
    };
    for (int step = 0; step < 12; ++step) {
        look(0, 3000 + (step % 3) * 500), look(1, 3000 + step * 100);
        job.after(1s);
    }
    const Finding found = found_by("host_exhaustion", job.watched());
    EXPECT_EQ(found.blame.ranks, ranks({1}));
    EXPECT_LT(found.at, 8s) << "it need not run out first";
}

TEST(UnbalancedMemory, NamesTheDeviceThatCarriesMore) {
    EvidenceBuilder job(4);
    job.start();
    for (int look = 0; look < 5; ++look) {
        for (Rank rank = 0; rank < 4; ++rank) job.add(rank, MemorySample{rank == 0 ? 70 : 30, 80, 0, 0});
        job.after(1s);
    }
    EXPECT_EQ(found_by("unbalanced_memory", job.watched()).blame.ranks, ranks({0}));
}

TEST(UnbalancedMemory, NamesWhoPutsWeightsOnAStrangersDevice) {
    EvidenceBuilder job(4);
    job.start();
    for (Rank rank = 0; rank < 4; ++rank) job.add(rank, DeviceBind{job.text("weights"), 0});
    EXPECT_EQ(found_by("unbalanced_memory", job.watched()).blame.ranks, ranks({1, 2, 3}));
}

TEST(DeviceFault, FindsTheRankBehindAKernelLine) {
    EvidenceBuilder job(8);
    job.start().world().step(0).add(6, StepBegin{1});
    job.add(
        no_rank,
        DeviceError{79, job.text("node1 kernel: NVRM: Xid (PCI:0000:1b:00): 79, pid=1006, name=python, GPU "
                                 "has fallen off the bus.")});
    const Finding found = found_by("device_fault", job.watched());
    EXPECT_EQ(found.blame.ranks, ranks({6}));
    EXPECT_EQ(found.blame.step, 1);
}

TEST(DeviceFault, LeavesAnApplicationsOwnErrorsAlone) {
    EvidenceBuilder job(2);
    job.start().add(
        no_rank,
        DeviceError{31, job.text("node0 kernel: NVRM: Xid (PCI:0000:1b:00): 31, pid=1000, MMU Fault")});
    expect_silence_of("device_fault", job.watched());
}

TEST(DeviceFault, CountsUncorrectedErrors) {
    EvidenceBuilder job(2);
    job.start()
        .add(1, DeviceSample{1980, 60, 500, 90, 0, 12, 0})
        .add(1, DeviceSample{1980, 60, 500, 90, 0, 12, 2});
    EXPECT_EQ(found_by("device_fault", job.watched()).blame.ranks, ranks({1}));
}

TEST(NativeCrash, NamesWhoDiedOfASignalWithoutAWord) {
    EvidenceBuilder job(4);
    job.start().world().step(0).exits(2, -11, 11).after(1s);
    for (const Rank rank : job.everybody_but(2)) job.exits(rank, -15, 15);
    EXPECT_EQ(found_by("native_crash", job.watched()).blame.ranks, ranks({2}));
}

TEST(NativeCrash, LeavesAnAbortAfterAComplaintToTheComplaint) {
    EvidenceBuilder job(2);
    job.start()
        .log(0, "[Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=4)")
        .exits(0, -6, 6);
    expect_silence_of("native_crash", job.watched());
}

TEST(NativeCrash, LeavesASilentKillToThePeersWhoAreStuck) {
    EvidenceBuilder job(4);
    job.start().world().step(0).exits(2, -9, 9);
    for (const Rank rank : job.everybody_but(2)) job.enters(rank, 1, 2);
    expect_silence_of("native_crash", job.watched(2min));
}

TEST(RuntimeException, TakesWhatNobodyElseKnows) {
    EvidenceBuilder job(4);
    job.start().log(
        1,
        "Traceback (most recent call last):\n  File \"train.py\", line 3\nAttributeError: no such attribute");
    job.after(5s).log(0, "RuntimeError: something later");
    const Finding found = found_by("runtime_exception", job.watched());
    EXPECT_EQ(found.blame.ranks, ranks({1}));
    EXPECT_NE(found.says.find("AttributeError: no such attribute"), std::string::npos) << found.says;
}

TEST(RuntimeException, LeavesTensorsToTheTensorDetector) {
    EvidenceBuilder job(2);
    job.start().log(1,
                    "Traceback (most recent call last):\nRuntimeError: start (9) + length (8) exceeds "
                    "dimension size (16).");
    const Evidence evidence = job.watched();
    expect_silence_of("runtime_exception", evidence);
    EXPECT_EQ(found_by("tensor_shape", evidence).blame.ranks, ranks({1}));
}

TEST(TestFailure, NamesTheTest) {
    EvidenceBuilder job(2);
    job.start().add(0, TestResult{job.text("a"), TextId::none, 1});
    job.add(1, TestResult{job.text("experts"), job.text("1.0 is not 2.0"), 0});
    EXPECT_EQ(found_by("test_failure", job.watched()).blame.component, "experts");
}

// Steps in which each rank computes this long, in `phase`, and then all reduce.
template <class Compute>
Evidence steps_of(Rank ranks, std::int64_t steps, const Compute& compute, Phase phase = Phase::forward) {
    EvidenceBuilder job(ranks);
    job.start().world();
    for (std::int64_t step = 0; step < steps; ++step) {
        std::vector<std::pair<Time, Rank>> order;
        for (const Rank rank : job.everybody()) {
            job.add(rank, StepBegin{step});
            if (phase != Phase::none) job.add(rank, PhaseBegin{step, phase});
            order.emplace_back(compute(rank, step), rank);
        }
        std::sort(order.begin(), order.end());
        Time passed{0};
        for (const auto& [time, rank] : order) {
            job.after(time - passed);
            if (phase != Phase::none) job.add(rank, PhaseEnd{step, phase});
            job.enters(rank, 1, step + 1);
            passed = time;
        }
        job.after(1ms);
        for (const Rank rank : job.everybody()) job.leaves(rank, 1, step + 1).add(rank, StepEnd{step, 1, 1});
    }
    job.all_exit();
    return job.watched();
}

TEST(Straggler, NamesAFixedOneByItsOwnTime) {
    const Evidence evidence =
        steps_of(8, 12, [](Rank rank, std::int64_t step) { return rank == 5 && step >= 3 ? 116ms : 100ms; });
    const Finding found = found_by("straggler", evidence);
    EXPECT_EQ(found.blame.ranks, ranks({5}));
    EXPECT_EQ(found.blame.step, 3);
    expect_silence_of("low_throughput", evidence);
}

TEST(Straggler, SeesARotatingOneAndBlamesNobody) {
    const Finding found = found_by("straggler", steps_of(8, 16, [](Rank rank, std::int64_t step) {
                                       return rank == step * 3 % 8 ? 200ms : 100ms;
                                   }));
    EXPECT_TRUE(found.blame.ranks.empty());
}

// A healthy job whose ranks had 15.4 and 12.5 ms of work a step; and one whose steps scatter by 40 ms anyway.
TEST(Straggler, IsSilentOnATimeSliceAndOnWhatTheJobScattersBy) {
    expect_silence_of("straggler", steps_of(2, 30, [](Rank rank, std::int64_t) {
                          return rank == 1 ? Time(15'400us) : Time(12'500us);
                      }));
    const auto scatters = [](Time slower) {
        return steps_of(2, 30, [slower](Rank rank, std::int64_t step) {
            return Time(100ms) + Time(40ms) * (step * 7 % 5) / 2 + (rank == 1 ? slower : Time(0));
        });
    };
    expect_silence_of("straggler", scatters(30ms));
    EXPECT_EQ(found_by("straggler", scatters(200ms)).blame.ranks, ranks({1}));
}

TEST(Straggler, SeesOneLongPause) {
    const Finding found = found_by("straggler", steps_of(4, 8, [](Rank rank, std::int64_t step) {
                                       return rank == 1 && step == 5 ? Time(30s) : Time(100ms);
                                   }));
    EXPECT_EQ(found.blame.ranks, ranks({1}));
    EXPECT_EQ(found.blame.step, 5);
}

// Goal: each limit is where it is said to be: twice as much, or half as much, would be noticed here.
TEST(Straggler, WaitsForFourStepsInARowAndForTenSecondsAtOnce) {
    const auto slow_in = [](std::int64_t steps) {
        return steps_of(8, 16, [steps](Rank rank, std::int64_t step) {
            return rank == 5 && step >= 3 && step < 3 + steps ? 116ms : 100ms;
        });
    };
    expect_silence_of("straggler", slow_in(3));
    EXPECT_EQ(found_by("straggler", slow_in(5)).blame.ranks, ranks({5}));
    const auto pauses = [](Time pause) {
        return steps_of(4, 8, [pause](Rank rank, std::int64_t step) {
            return rank == 1 && step == 5 ? pause : Time(1s);
        });
    };
    expect_silence_of("straggler", pauses(9s));
    EXPECT_EQ(found_by("straggler", pauses(15s)).blame.ranks, ranks({1}));
    // Ten seconds are no pause where a step takes two.
    expect_silence_of("straggler", steps_of(4, 8, [](Rank rank, std::int64_t step) {
                          return rank == 1 && step == 5 ? Time(15s) : Time(2s);
                      }));
}

TEST(Straggler, IsSilentBelowEightPercentAndBelowATimeSlice) {
    const auto later = [](Time slower) {
        return steps_of(8, 12, [slower](Rank rank, std::int64_t) {
            return rank == 5 ? Time(100ms) + slower : Time(100ms);
        });
    };
    expect_silence_of("straggler", later(6ms));
    EXPECT_EQ(found_by("straggler", later(9ms)).blame.ranks, ranks({5}));
    // In steps of a few milliseconds the time slice of a scheduler counts, not the share.
    const auto short_steps = [](Time slower) {
        return steps_of(8, 12, [slower](Rank rank, std::int64_t) {
            return rank == 5 ? Time(20ms) + slower : Time(20ms);
        });
    };
    expect_silence_of("straggler", short_steps(4ms));
    EXPECT_EQ(found_by("straggler", short_steps(7ms)).blame.ranks, ranks({5}));
}

TEST(Straggler, CallsFiveOfEightStepsARotation) {
    const auto late_in = [](std::int64_t of_eight, Rank different) {
        return steps_of(8, 24, [of_eight, different](Rank rank, std::int64_t step) {
            return step % 8 < of_eight && rank == step % different ? 140ms : 100ms;
        });
    };
    expect_silence_of("straggler", late_in(3, 7));
    EXPECT_TRUE(found_by("straggler", late_in(6, 7)).blame.ranks.empty());
    // An eighth more is no rank's turn: it takes a fifth.
    expect_silence_of("straggler", steps_of(8, 24, [](Rank rank, std::int64_t step) {
                          return rank == step * 3 % 8 ? 112ms : 100ms;
                      }));
}

TEST(LowThroughput, SeesAllRanksSlowDown) {
    const Evidence evidence =
        steps_of(4, 16, [](Rank, std::int64_t step) { return step < 6 ? 100ms : 125ms; });
    const Finding found = found_by("low_throughput", evidence);
    EXPECT_TRUE(found.blame.ranks.empty());
    EXPECT_EQ(found.blame.step, 6);
    expect_silence_of("straggler", evidence);
}

TEST(LowThroughput, SeesStallsThatComeAgain) {
    const Evidence evidence =
        steps_of(4, 24, [](Rank, std::int64_t step) { return step * step % 11 == 5 ? 900ms : 100ms; });
    EXPECT_EQ(found_by("low_throughput", evidence).symptom, "low_throughput_uniform");
}

// A rollout before each fifth update, or the next training that is prepared.
TEST(LowThroughput, IsSilentOnWhatIsNoPhaseOfTraining) {
    const auto compute = [](Rank, std::int64_t step) { return step % 5 == 4 ? 900ms : 100ms; };
    expect_silence_of("low_throughput", steps_of(4, 20, compute, Phase::none));
    expect_silence_of("low_throughput", steps_of(4, 20, compute, Phase::checkpoint));
}

// The same job before and after it was started again, with another release of torch on `changed` ranks.
Evidence restarted(Time before, Time after, Rank changed = 4) {
    EvidenceBuilder job(4);
    job.start().world();
    for (std::int64_t step = 0; step < 8; ++step) job.step(step, 1.0, before);
    job.after(5s).add(no_rank, Restart{1, job.text("rank 2 failed")});
    for (Rank rank = 0; rank < 4; ++rank) {
        const std::string release = rank < changed ? "torch=2.3.0" : "torch=2.11.0";
        job.start(rank, job.environment(rank), "nccl=2.28.9\n" + release);
    }
    job.world();
    for (std::int64_t step = 8; step < 16; ++step) job.step(step, 1.0, after);
    return job.watched();
}

TEST(LowThroughput, ComparesWithTheAttemptBefore) {
    const Finding found = found_by("low_throughput", restarted(100ms, 150ms));
    EXPECT_TRUE(found.blame.ranks.empty());
    EXPECT_EQ(found.blame.component, "torch");
    EXPECT_EQ(found.causes.front(), "dependency_or_hardware_mismatch");
    EXPECT_NE(found.says.find("since the restart"), std::string::npos) << found.says;
    EXPECT_TRUE(found_by("low_throughput", restarted(100ms, 150ms, 2)).blame.component.empty())
        << "what only some ranks have otherwise is no change of all";
    expect_silence_of("low_throughput", restarted(100ms, 104ms));
    expect_silence_of("low_throughput", restarted(150ms, 100ms));
}

TEST(LowThroughput, ReadsRetries) {
    EvidenceBuilder job(4);
    job.start().world();
    for (int i = 0; i < 3; ++i) job.after(1s).log(2, "storage: Retrying the request", 1);
    EXPECT_EQ(found_by("low_throughput", job.watched()).blame.ranks, ranks({2}));
}

}  // namespace
}  // namespace deadrank::tests
