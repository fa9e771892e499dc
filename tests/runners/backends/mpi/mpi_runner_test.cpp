// tests/runners/backends/mpi/mpi_runner_test.cpp — Goal: the simulator's workloads run as MPI ranks with the
// same values; a rank that is killed, stopped, gone or early gives evidence; nothing is left behind.
#include "runners/backends/mpi/mpi_runner.h"

#include <atomic>
#include <filesystem>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <thread>
#include <unistd.h>

#include "runners/backends/process/job_processes.h"
#include "runners/backends/sim/sim_runner.h"
#include "scenarios/format/plan_file.h"
#include "tests/runners/backends/ranks/rank_job.h"
#include "tests/runners/backends/ranks/seen.h"
#include "tests/support/shell.h"

namespace deadrank::runners {
namespace {

namespace fs = std::filesystem;
using results::RankEnd;
using testing::ElementsAre;
using testing::HasSubstr;
using testing_ranks::computed;
using testing_ranks::fault;
using testing_ranks::resolved;
using testing_ranks::small_job;
using testing_ranks::symptoms;

class DeviceMpi : public testing::Test {
protected:
    void SetUp() override {
        if (const auto there = mpi_is_there(); !there) GTEST_SKIP() << there.error().text();
        fs::create_directories(place_);
        setenv("TMPDIR", place_.c_str(), 1);
    }
    void TearDown() override {
        unsetenv("TMPDIR");
        if (!fs::exists(place_)) return;
        EXPECT_EQ(leftovers(), 0) << "processes of the job outlived it";
        EXPECT_TRUE(fs::is_empty(place_)) << "files of the job outlived it";
        fs::remove_all(place_);
    }
    Record play(const scenarios::Scenario& scenario, const RunOptions& options = {}) {
        MpiRunner runner;
        auto record = runner.run(resolved(scenario, runner.capabilities()), options);
        if (record) return std::move(*record);
        ADD_FAILURE() << record.error().text();
        return {};
    }
    int leftovers() const {
        const auto found = tests::shell("grep -lsz '^DEADRANK_EVIDENCE=" + place_.string() +
                                        "' /proc/[0-9]*/environ | wc -l");
        return std::atoi(found.out.c_str());
    }

    fs::path place_ = fs::path(testing::TempDir()) / ("deadrank_mpi_" + std::to_string(getpid()));
};

TEST_F(DeviceMpi, EveryWorkloadComputesWhatItDoesInTheSimulator) {
    for (const auto& workload : vocabulary().workloads) {
        SCOPED_TRACE(workload.name);
        if (!workload.launcher.empty()) continue;  // mpirun starts and ends all ranks together
        if (workload.own_words) continue;          // the simulator alone plays it
        const auto job = small_job(workload.name, 4);
        const Record real = play(job);
        const auto simulated = SimRunner().run(resolved(job, SimRunner().capabilities()), {});
        ASSERT_TRUE(simulated) << simulated.error().text();
        EXPECT_THAT(real.truth.ends, testing::Each(RankEnd::finished));
        EXPECT_EQ(real.truth.ends.size(), 4u);
        EXPECT_EQ(computed(real), computed(*simulated));
        EXPECT_FALSE(computed(real).empty());
        EXPECT_THAT(symptoms(real), testing::IsEmpty());
    }
}

TEST_F(DeviceMpi, AKilledRankEndsTheJobAndIsNamed) {
    auto job = small_job();
    job.faults.push_back(fault("kill_rank", 1));
    const Record record = play(job);
    ASSERT_EQ(record.truth.ends.size(), 2u);
    EXPECT_EQ(record.truth.ends[1], RankEnd::killed);
    ASSERT_FALSE(record.truth.marks.empty());
    EXPECT_THAT(record.truth.marks.front().blame.ranks, ElementsAre(1));
    const auto stops = record.evidence.each<results::JobStop>();
    ASSERT_EQ(stops.size(), 1u) << "mpirun was not seen to end";
    EXPECT_EQ(stops.front()->as<results::JobStop>()->code, 137);
}

TEST_F(DeviceMpi, AStoppedRankHangsTheJobUntilTheWatchdogOutside) {
    auto job = small_job();
    job.faults.push_back(fault("stop_rank", 1));
    const Record record = play(job);
    EXPECT_THAT(record.truth.ends, ElementsAre(RankEnd::stuck, RankEnd::stopped));
    EXPECT_THAT(symptoms(record), testing::Contains("collective_deadlock_hang"));
}

TEST_F(DeviceMpi, ARankThatIsLostUnderNobodysEyesLeavesItsPeersWaiting) {
    auto job = small_job("data_parallel", 2, "bare");
    job.faults.push_back(fault("kill_rank", 1));
    const Record record = play(job);
    EXPECT_THAT(record.truth.ends, ElementsAre(RankEnd::stuck, RankEnd::killed));
    EXPECT_THAT(symptoms(record), testing::Contains("collective_deadlock_hang"));
}

TEST_F(DeviceMpi, ARankThatLeavesEarlyEndsTheJobWithItsCode) {
    auto job = small_job();
    job.faults.push_back(fault("exit_rank", 0, ""));
    const Record record = play(job);
    ASSERT_EQ(record.truth.ends.size(), 2u);
    EXPECT_EQ(record.truth.ends[0], RankEnd::failed);
    bool said = false;
    for (const results::Event* event : record.evidence.each<results::RankLog>()) {
        said |= event->rank == 0 &&
                record.evidence.text(event->as<results::RankLog>()->line).find("unexpected state") !=
                    std::string_view::npos;
    }
    EXPECT_TRUE(said) << "its traceback is missing";
}

TEST_F(DeviceMpi, AJobThatIsAskedToLeaveEndsAsOne) {
    auto job = small_job();
    job.faults.push_back(fault("preempt_job", testing_ranks::no_rank, ""));
    const Record record = play(job);
    EXPECT_THAT(record.truth.ends, ElementsAre(RankEnd::killed, RankEnd::killed));
    EXPECT_FALSE(record.truth.marks.empty());
    EXPECT_THAT(symptoms(record), testing::Contains("restart_or_recovery_failure"));
}

TEST_F(DeviceMpi, AFlippedBitIsAWrongNumber) {
    auto job = small_job();
    const Record healthy = play(job);
    job.faults.push_back(fault("flip_bits", 1));
    const Record record = play(job);
    EXPECT_THAT(record.truth.ends, ElementsAre(RankEnd::finished, RankEnd::finished));
    EXPECT_NE(computed(record), computed(healthy));
}

TEST_F(DeviceMpi, AnInterruptEndsItSoonAndKeepsTheEvidence) {
    auto job = small_job();
    job.faults.push_back(fault("stop_rank", 1));
    const fs::path kept = place_ / "kept";
    std::atomic<bool> stop = false;
    std::jthread asker([&] {  // when the rank stands still
        const std::string marks = (kept / "processes" / "truth" / "rank1.jsonl").string();
        for (int i = 0; i < 200 && tests::shell("test -s " + marks).code != 0; ++i)
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
        stop = true;
    });
    const Record record = play(job, {.directory = kept, .stop = &stop});
    EXPECT_FALSE(record.evidence.each<results::StepBegin>().empty());
    EXPECT_FALSE(record.truth.marks.empty());
    EXPECT_THAT(record.notes, testing::Contains(HasSubstr("stopped by request")));
    EXPECT_EQ(leftovers(), 0);
    fs::remove_all(kept);
}

TEST(MpiRunnerRefuses, WhatNoMpiJobCanDo) {
    MpiRunner runner;
    auto job = small_job();
    job.cluster["restarts_max"] = testing_ranks::of_cluster("restarts_max", "1");
    const auto refused = runner.run(resolved(job, runner.capabilities()), {});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, scenarios::ErrorCode::unsupported);
    EXPECT_THAT(refused.error().text(), HasSubstr("started again"));
    job = small_job();
    job.faults.push_back(fault("limit_memory", 1, ""));
    const auto trial = scenarios::resolve(job, {1}, runner.capabilities(), vocabulary());
    ASSERT_FALSE(trial);
    EXPECT_EQ(trial.error().code, scenarios::ErrorCode::unsupported);
}

}  // namespace
}  // namespace deadrank::runners
