// tests/sim/launcher_test.cpp — One process fails: what torchrun, mpirun and a bare loop make of it, and what
// broken packages do.
#include <algorithm>
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "tests/sim/cluster_harness.h"

namespace deadrank::sim {
namespace {

using namespace std::chrono_literals;
using results::no_rank;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

ClusterSettings launched_by(LauncherKind launcher, int gpus = 3) {
    ClusterSettings settings = bare(1, gpus);
    settings.launcher = launcher;
    return settings;
}

void wait_long(World& world) { world.timer().sleep(60s); }

Setup kill(Rank rank, int signal, Time when = 2s) {
    return [=](Cluster& cluster) { cluster.at(when, [=, &cluster] { cluster.kill(rank, signal); }); };
}

// Goal: a process finds its place under the names of whoever started it, and under no others.
TEST(Launchers, TellEachProcessItsPlace) {
    const auto told = [](LauncherKind launcher, bool slurm, std::string_view name) {
        ClusterSettings settings = bare(2, 3);
        settings.launcher = launcher;
        if (slurm) settings.environment["SLURM_JOB_ID"] = "17";
        std::string found;
        (void)play(settings, [&](World& world) {
            if (world.process() == 4) found = world.env().get(name).value_or("none");
        });
        return found;
    };
    EXPECT_EQ(told(LauncherKind::mpirun, false, "OMPI_COMM_WORLD_NODE_RANK"), "1");
    EXPECT_EQ(told(LauncherKind::mpirun, false, "OMPI_UNIVERSE_SIZE"), "6");
    EXPECT_EQ(told(LauncherKind::mpirun, false, "PMIX_RANK"), "4");
    EXPECT_EQ(told(LauncherKind::torchrun, false, "PMIX_RANK"), "none");
    EXPECT_EQ(told(LauncherKind::bare, false, "SLURM_PROCID"), "none");
    const std::pair<const char*, std::pair<const char*, const char*>> of_slurm[] = {
        {"SLURM_PROCID", {"4", "1"}},
        {"SLURM_LOCALID", {"1", "0"}},
        {"SLURM_NODEID", {"1", "1"}},
        {"SLURM_NTASKS", {"6", "2"}},
        {"SLURM_NNODES", {"2", "2"}},
        {"SLURM_TASKS_PER_NODE", {"3(x2)", "1(x2)"}},
        {"SLURMD_NODENAME", {"node1", "node1"}},
        {"SLURM_JOB_ID", {"17", "17"}}};
    for (const auto& [name, values] : of_slurm) {
        EXPECT_EQ(told(LauncherKind::bare, true, name), values.first) << name;
        EXPECT_EQ(told(LauncherKind::torchrun, true, name), values.second) << name << " of an agent's ranks";
    }
}

TEST(Torchrun, EndsTheOthersAtItsNextLookAndSaysWhoWasFirst) {
    const Trial trial = play(launched_by(LauncherKind::torchrun), wait_long, kill(2, 9));
    EXPECT_EQ(trial.times<results::RankExit>(2).at(0), 2s);
    EXPECT_EQ(trial.times<results::RankExit>(0).at(0), 5s);
    EXPECT_EQ(trial.of<results::RankExit>(0).at(0).signal, 15);
    EXPECT_TRUE(trial.says(no_rank, "failed (exitcode: -9) local_rank: 2 (pid: 1002)"));
    EXPECT_TRUE(trial.says(no_rank, "Sending process 1000 closing signal SIGTERM"));
    EXPECT_TRUE(trial.says(no_rank, "traceback : Signal 9 (SIGKILL) received by PID 1002"));
    EXPECT_TRUE(trial.says(no_rank, "rank      : 2 (local_rank: 2)"));
    EXPECT_EQ(trial.of<results::JobStop>(no_rank).at(0).code, 1);
}

// The words and the rank of each line of the launcher, in order; "failed 1", "closing 1000", "report".
std::vector<std::string> launcher_lines(const Trial& trial) {
    std::vector<std::string> lines;
    for (const results::Event& event : trial.evidence.events()) {
        if (const auto* exit = event.as<results::RankExit>())
            lines.push_back(fmt::format("rank {} ended ({})", event.rank, exit->code));
        const auto* log = event.as<results::RankLog>();
        if (log && event.rank == no_rank) {
            const std::string text(trial.evidence.text(log->line));
            lines.push_back(text.substr(0, text.find(" of binary")).substr(0, text.find(" closing")));
        }
    }
    return lines;
}

// Goal: as torch 2.11's SubprocessContext: polls, signals, waits, and only then reports.
TEST(Torchrun, SignalsTheOthersBeforeItReports) {
    const auto lines = launcher_lines(play(launched_by(LauncherKind::torchrun), wait_long, kill(2, 9)));
    ASSERT_EQ(lines.size(), 7u);
    EXPECT_EQ(lines[0], "rank 2 ended (-9)");
    EXPECT_EQ(lines[1], "Sending process 1000");
    EXPECT_EQ(lines[2], "Sending process 1001");
    EXPECT_EQ(lines[3], "rank 0 ended (-15)");
    EXPECT_EQ(lines[4], "rank 1 ended (-15)");
    EXPECT_EQ(lines[5], "failed (exitcode: -9) local_rank: 2 (pid: 1002)");
    EXPECT_THAT(lines[6], HasSubstr("train.py FAILED")) << lines[6];
}

TEST(Torchrun, ListsTheRanksItEndedAndTheFirstToFailAsRootCause) {
    const Trial trial = play(launched_by(LauncherKind::torchrun, 4), wait_long, [](Cluster& cluster) {
        kill(2, 9)(cluster);
        kill(1, 6, 3s)(cluster);
    });
    const std::string report = launcher_lines(trial).back();
    EXPECT_THAT(report, HasSubstr("Failures:\n[1]:\n  time      : 2026-01-01_00:00:05\n  host      : node0\n"
                                  "  rank      : 1 (local_rank: 1)\n  exitcode  : -6 (pid: 1001)\n"));
    EXPECT_THAT(report,
                HasSubstr("[2]:\n  time      : 2026-01-01_00:00:05\n  host      : node0\n  rank      : 0"));
    EXPECT_THAT(report, HasSubstr("traceback : Signal 15 (SIGTERM) received by PID 1003"));
    EXPECT_THAT(
        report,
        HasSubstr("Root Cause (first observed failure):\n[0]:\n  time      : 2026-01-01_00:00:05\n"
                  "  host      : node0\n  rank      : 2 (local_rank: 2)\n  exitcode  : -9 (pid: 1002)\n"));
}

TEST(Torchrun, ReportsAfterTheLastAttemptAlone) {
    ClusterSettings settings = launched_by(LauncherKind::torchrun);
    settings.restarts_max = 1;
    const Trial trial = play(settings, [](World& world) {
        if (world.process() == 1) throw RankFailure("RuntimeError: always");
        wait_long(world);
    });
    const auto lines = launcher_lines(trial);
    const auto with = [&](const char* words) {
        return std::count_if(lines.begin(), lines.end(),
                             [&](const std::string& line) { return line.find(words) != std::string::npos; });
    };
    EXPECT_EQ(with("failed (exitcode: 1)"), 2);
    EXPECT_EQ(with("Root Cause"), 1);
}

TEST(Spawn, EndsTheOthersAtOnceAndSaysWhatTheFirstOneRaised) {
    const Trial trial = play(launched_by(LauncherKind::spawn), [](World& world) {
        world.timer().sleep(2s);
        if (world.process() == 1) throw RankFailure("RuntimeError: broken");
        wait_long(world);
    });
    EXPECT_EQ(trial.times<results::RankExit>(0).at(0), 2s);
    EXPECT_EQ(trial.of<results::RankExit>(0).at(0).signal, 15);
    EXPECT_TRUE(trial.says(no_rank,
                           "-- Process 1 terminated with the following error:\nTraceback (most recent "
                           "call last):\nRuntimeError: broken"));
    EXPECT_EQ(trial.of<results::JobStop>(no_rank).at(0).code, 1);
}

TEST(Spawn, SaysHowAWorkerWithoutAnExceptionEnded) {
    const Trial killed = play(launched_by(LauncherKind::spawn), wait_long, kill(2, 9));
    EXPECT_TRUE(killed.says(no_rank, "process 2 terminated with signal SIGKILL"));
    const Trial left = play(launched_by(LauncherKind::spawn), [](World& world) {
        if (world.process() == 1) throw RankFailure("SystemExit: 3", 3);
        wait_long(world);
    });
    EXPECT_TRUE(left.says(no_rank, "process 1 terminated with exit code 3"));
    EXPECT_EQ(left.of<results::JobStop>(no_rank).at(0).code, 1);
}

TEST(Spawn, EndsWithTheCodeOfItsMainProgram) {
    ClusterSettings settings = launched_by(LauncherKind::spawn);
    settings.hides_failures = true;
    const Trial trial = play(settings, wait_long, kill(2, 9));
    EXPECT_EQ(trial.of<results::RankExit>(0).at(0).signal, 15);
    EXPECT_EQ(trial.of<results::JobStop>(no_rank).at(0).code, 0);
    EXPECT_FALSE(trial.says(no_rank, "terminated with signal"));
}

TEST(Torchrun, KillsAStoppedChildAfterItsGrace) {
    const Trial trial = play(launched_by(LauncherKind::torchrun), wait_long, [](Cluster& cluster) {
        cluster.at(1s, [&] { cluster.stop(1); });
        cluster.at(2s, [&] { cluster.kill(2, 9); });
    });
    EXPECT_EQ(trial.of<results::RankExit>(1).at(0).signal, 9);
    EXPECT_EQ(trial.times<results::RankExit>(1).at(0), 35s);
}

TEST(Torchrun, StartsAgainWhileRestartsAreLeft) {
    ClusterSettings settings = launched_by(LauncherKind::torchrun);
    settings.restarts_max = 2;
    const Trial trial = play(settings, [](World& world) {
        if (world.attempt() == 0 && world.process() == 1) throw RankFailure("RuntimeError: once", 3);
        const auto comm = everybody(world);
        Number data[] = {1};
        comm->all_reduce(data);
    });
    EXPECT_THAT(trial.result.ends, Each(ProcessEnd::finished));
    EXPECT_EQ(trial.of<results::Restart>(no_rank).size(), 1u);
    EXPECT_EQ(trial.of<results::RankStart>(0).size(), 2u);
    EXPECT_NE(trial.of<results::RankStart>(0).at(0).pid, trial.of<results::RankStart>(0).at(1).pid);
    EXPECT_EQ(trial.of<results::JobStop>(no_rank).at(0).code, 0);
    EXPECT_TRUE(trial.says(1, "RuntimeError: once"));
}

TEST(Torchrun, GivesUpWhenRestartsAreSpent) {
    ClusterSettings settings = launched_by(LauncherKind::torchrun);
    settings.restarts_max = 1;
    const Trial trial = play(settings, [](World& world) {
        if (world.process() == 1) throw RankFailure("RuntimeError: always");
        wait_long(world);
    });
    EXPECT_EQ(trial.of<results::Restart>(no_rank).size(), 1u);
    EXPECT_EQ(trial.of<results::JobStop>(no_rank).at(0).code, 1);
}

Setup lose(int node, Time when = 2s) {
    return [=](Cluster& cluster) {
        cluster.at(when, [=, &cluster] { cluster.change_host(node, {.down = true}); });
    };
}

// Rank 0 notices after a while that its peer on the other node is silent, and fails.
void notice_a_silent_peer(World& world) {
    if (world.process() == 0 && world.attempt() == 0) {
        world.timer().sleep(20s);
        throw RankFailure("RuntimeError: peer timed out");
    }
    world.timer().sleep(30s);
}

TEST(SpareNodes, TakeTheNameAndThePlaceOfLostOnes) {
    ClusterSettings settings = bare(2, 2);
    settings.launcher = LauncherKind::torchrun;
    settings.restarts_max = 3;
    settings.spare_nodes = 1;
    const Trial trial = play(settings, notice_a_silent_peer, lose(1));
    EXPECT_THAT(trial.result.ends, Each(ProcessEnd::finished));
    EXPECT_TRUE(trial.of<results::RankExit>(3).size() == 1u) << "nobody saw its first end";
    const auto starts = trial.of<results::RankStart>(3);
    ASSERT_EQ(starts.size(), 2u);
    EXPECT_EQ(starts[0].host, starts[1].host);
}

TEST(SpareNodes, AreNotEnoughForMoreLosses) {
    ClusterSettings settings = bare(3, 1);
    settings.launcher = LauncherKind::torchrun;
    settings.restarts_max = 3;
    for (const int spares : {0, 1, 2}) {
        settings.spare_nodes = spares;
        const Trial trial = play(settings, notice_a_silent_peer, [](Cluster& cluster) {
            lose(1)(cluster);
            lose(2)(cluster);
        });
        EXPECT_EQ(trial.of<results::Restart>(no_rank).size(), spares == 2 ? 1u : 0u) << spares;
        EXPECT_EQ(trial.of<results::JobStop>(no_rank).at(0).code, spares == 2 ? 0 : 1) << spares;
    }
}

TEST(SpareNodes, ComeWithAnEmptyDisk) {
    ClusterSettings settings = bare(2, 1);
    settings.launcher = LauncherKind::replicas;
    settings.restarts_max = 1;
    settings.spare_nodes = 1;
    std::vector<std::string> found;
    const Trial trial = play(
        settings,
        [&](World& world) {
            const std::string own = "node" + std::to_string(world.node()) + "/file";
            if (world.attempt() > 0) found = world.storage().list("");
            const Number content[] = {1};
            world.storage().write(own, content);
            world.storage().sync(own);
            world.timer().sleep(10s);
        },
        lose(1));
    EXPECT_THAT(found, ElementsAre("node0/file"));
    EXPECT_EQ(trial.of<results::JobStop>(no_rank).at(0).code, 0);
}

TEST(ReplicaLaunchers, StartOneAgainAndLeaveTheOthersAlone) {
    ClusterSettings settings = launched_by(LauncherKind::replicas);
    settings.restarts_max = 1;
    const Trial trial = play(
        settings, [](World& world) { world.timer().sleep(20s); },
        [](Cluster& cluster) {
            kill(1, 9)(cluster);
            kill(2, 9)(cluster);
            kill(2, 9, 5s)(cluster);
        });
    EXPECT_THAT(trial.result.ends,
                ElementsAre(ProcessEnd::finished, ProcessEnd::finished, ProcessEnd::killed));
    EXPECT_THAT(trial.times<results::RankStart>(1), ElementsAre(0s, 3s));
    EXPECT_EQ(trial.of<results::RankStart>(0).size(), 1u);
    EXPECT_EQ(trial.of<results::RankStart>(2).size(), 2u) << "its one restart is spent";
    EXPECT_EQ(trial.of<results::JobStop>(no_rank).at(0).code, 1);
    EXPECT_TRUE(trial.says(no_rank, "rank 1 ended (exitcode: -9) and starts again"));
}

TEST(ReplicaLaunchers, HostAStoreThatOutlivesEveryRank) {
    ClusterSettings settings = launched_by(LauncherKind::replicas);
    settings.restarts_max = 1;
    std::vector<std::string> words;
    const Trial trial = play(
        settings,
        [&](World& world) {
            Store& store = world.rendezvous("node0:29500", false, 10s);
            words.push_back(store.set_once("word", std::to_string(world.attempt())));
            world.timer().sleep(10s);
        },
        kill(0, 9));
    EXPECT_THAT(words, ElementsAre("0", "0", "0", "0")) << "the first word stands";
}

TEST(BareLauncher, TellsNobody) {
    const Trial trial = play(launched_by(LauncherKind::bare), wait_long, kill(2, 9));
    EXPECT_THAT(trial.result.ends,
                ElementsAre(ProcessEnd::finished, ProcessEnd::finished, ProcessEnd::killed));
    EXPECT_EQ(trial.times<results::RankExit>(0).at(0), 60s);
}

TEST(Mpirun, EndsAllAtOnceWithTheFirstOnesCode) {
    const Trial signalled = play(launched_by(LauncherKind::mpirun), wait_long, kill(2, 9));
    EXPECT_EQ(signalled.of<results::JobStop>(no_rank).at(0).code, 137);
    EXPECT_EQ(signalled.times<results::RankExit>(0).at(0), 2s);
    EXPECT_TRUE(signalled.says(no_rank, "exited on signal 9 (Killed)"));
    const Trial left = play(launched_by(LauncherKind::mpirun), [](World& world) {
        if (world.process() == 2) throw RankFailure("bad", 9);
        wait_long(world);
    });
    EXPECT_EQ(left.of<results::JobStop>(no_rank).at(0).code, 9);
    EXPECT_TRUE(left.says(no_rank, "Exit code:    9"));
}

TEST(Mpirun, DoesNotNoticeAStoppedProcess) {
    const Trial trial = play(launched_by(LauncherKind::mpirun), wait_long,
                             [](Cluster& cluster) { cluster.at(1s, [&] { cluster.stop(1); }); });
    EXPECT_EQ(trial.result.ends.at(1), ProcessEnd::stopped);
    EXPECT_TRUE(trial.of<results::JobStop>(no_rank).empty());
}

TEST(Scheduler, TakesTheWholeJob) {
    const Trial trial = play(launched_by(LauncherKind::torchrun), wait_long, [](Cluster& cluster) {
        cluster.at(2s, [&] {
            cluster.preempt("slurmstepd: error: *** JOB 7 ON node0 CANCELLED DUE TO PREEMPTION ***");
        });
    });
    EXPECT_THAT(trial.result.ends, Each(ProcessEnd::killed));
    EXPECT_EQ(trial.of<results::JobStop>(no_rank).at(0).code, 143);
    EXPECT_TRUE(trial.says(no_rank, "DUE TO PREEMPTION"));
}

TEST(Process, RaisesFromOutsideInItsOwnWords) {
    const Trial trial = play(
        bare(1, 2),
        [](World& world) {
            if (world.process() == 0) everybody(world);
        },
        [](Cluster& cluster) { cluster.at(1s, [&] { cluster.exit(0, 7, "AssertionError: planted"); }); });
    EXPECT_TRUE(trial.says(0, "Traceback (most recent call last):\nAssertionError: planted"));
    EXPECT_EQ(trial.of<results::RankExit>(0).at(0).code, 7);
    EXPECT_EQ(trial.times<results::RankExit>(0).at(0), 1s);
}

TEST(Process, SeesWhatTheLauncherAndItsFaultsPutIntoItsEnvironment) {
    ClusterSettings settings = bare(2, 2);
    settings.environment = {{"OMP_NUM_THREADS", "1"}, {"MASTER_PORT", "1234"}};
    std::string seen;
    const Trial trial = play(
        settings,
        [&](World& world) {
            if (world.process() != 3) return;
            for (const char* name : {"RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT",
                                     "OMP_NUM_THREADS", "GONE"}) {
                seen += world.env().get(name).value_or("-") + " ";
            }
        },
        [](Cluster& cluster) {
            cluster.swap_ranks(3, 2);
            cluster.set_env(3, "WORLD_SIZE", "");
            cluster.unset_env(3, "OMP_NUM_THREADS");
        });
    EXPECT_EQ(seen, "2 1  node0 1234 - - ");
    const std::string shown(trial.evidence.text(trial.of<results::RankStart>(3).at(0).environment));
    EXPECT_THAT(shown, testing::EndsWith("WORLD_SIZE="));
    EXPECT_THAT(shown, HasSubstr("RANK=2\n"));
    EXPECT_THAT(shown, testing::Not(HasSubstr("OMP_NUM_THREADS")));
}

TEST(Packages, ThatAreMissingOrBrokenEndTheProcessAtItsImport) {
    const Trial trial = play(
        bare(1, 3), [](World&) {},
        [](Cluster& cluster) {
            cluster.set_version(0, "torch", "");
            cluster.break_package(1, "flash_attn",
                                  "flash_attn_2_cuda.so: undefined symbol: _ZN3c104cuda9SetDeviceEi");
        });
    EXPECT_TRUE(trial.says(0, "ModuleNotFoundError: No module named 'torch'"));
    EXPECT_TRUE(trial.says(1, "ImportError: flash_attn_2_cuda.so: undefined symbol"));
    EXPECT_EQ(trial.of<results::PackageLoad>(1).at(0).result, Code::corrupt);
    EXPECT_EQ(trial.result.ends.at(2), ProcessEnd::finished);
}

TEST(Packages, LoadWhereTheReleaseIsThatTheyWereBuiltFor) {
    const std::pair<const char*, bool> releases[] = {
        {"2.4.1", true}, {"2.4", true}, {"2.40", false}, {"2.11", false}};
    for (const auto& [release, loads] : releases) {
        ClusterSettings settings = bare(1, 1);
        settings.versions["torch"] = release;
        const Trial trial = play(
            settings, [](World&) {},
            [](Cluster& cluster) {
                cluster.break_package(0, "flash_attn", "undefined symbol", false, "torch 2.4");
            });
        EXPECT_EQ(trial.result.ends.at(0) == ProcessEnd::finished, loads) << release;
    }
}

}  // namespace
}  // namespace deadrank::sim
