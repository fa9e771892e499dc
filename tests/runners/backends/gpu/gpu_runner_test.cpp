// tests/runners/backends/gpu/gpu_runner_test.cpp — Goal: the simulator's workloads run as NCCL ranks with the
// same values; what befalls a rank is seen as NCCL shows it; nothing is left behind. On GPUs where there are
// some, else on the drop-in that needs none, else skipped with the reason.
#include "runners/backends/gpu/gpu_runner.h"

#include <filesystem>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "runners/backends/gpu/gpu_machine.h"
#include "runners/backends/ranks/play.h"
#include "runners/backends/ranks/rank_levers.h"
#include "runners/backends/sim/sim_runner.h"
#include "tests/inject/standin/torch_here.h"
#include "tests/runners/backends/ranks/rank_job.h"
#include "tests/runners/backends/ranks/seen.h"
#include "tests/support/shell.h"

namespace deadrank::runners {
namespace {

namespace fs = std::filesystem;
using results::Code;
using results::RankEnd;
using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing_ranks::computed;
using testing_ranks::fault;
using testing_ranks::resolved;
using testing_ranks::small_job;
using testing_ranks::symptoms;

class DeviceGpu : public testing::Test {
protected:
    void SetUp() override {
        unsetenv(standin_variable);
        std::string why;
        for (const char* standin : {"0", "1"}) {
            setenv(standin_variable, standin, 1);
            if (const auto found = find_gpus()) {
                fs::create_directories(place_);
                setenv("TMPDIR", place_.c_str(), 1);
                return;
            } else {
                why += (why.empty() ? "" : "; ") + found.error().what;
            }
        }
        GTEST_SKIP() << why;
    }
    void TearDown() override {
        unsetenv(standin_variable);
        unsetenv("CUDA_VISIBLE_DEVICES");
        unsetenv("TMPDIR");
        if (!fs::exists(place_)) return;
        const auto left = tests::shell("grep -lsz '^DEADRANK_EVIDENCE=" + place_.string() +
                                       "' /proc/[0-9]*/environ | wc -l");
        EXPECT_EQ(std::atoi(left.out.c_str()), 0) << "processes of the job outlived it";
        EXPECT_TRUE(fs::is_empty(place_)) << "files of the job outlived it";
        fs::remove_all(place_);
    }
    Record play(const scenarios::Scenario& scenario) {
        GpuRunner runner;
        auto record = runner.run(resolved(scenario, runner.capabilities()), {});
        if (record) return std::move(*record);
        ADD_FAILURE() << record.error().text();
        return {};
    }

    fs::path place_ = fs::path(testing::TempDir()) / ("deadrank_gpu_" + std::to_string(getpid()));
};

std::string log_of(const Record& record, results::Rank rank) {
    std::string text;
    for (const results::Event* event : record.evidence.each<results::RankLog>()) {
        if (event->rank != rank) continue;
        text += std::string(record.evidence.text(event->as<results::RankLog>()->line)) + "\n";
    }
    return text;
}

scenarios::FaultSettings set_on(const std::vector<std::int64_t>& ranks, const std::string& name,
                                const std::string& value) {
    using scenarios::ValueType;
    scenarios::FaultSettings set{.kind = "set_env"};
    set.parameters["rank"] = {.options = {{.type = ValueType::ranks, .list = ranks}}};
    set.parameters["name"] = {.options = {{.type = ValueType::text, .text = name}}};
    set.parameters["value"] = {.options = {{.type = ValueType::text, .text = value}}};
    return set;
}

scenarios::FaultSettings another_nccl(const std::string& version) {
    using scenarios::ValueType;
    scenarios::FaultSettings skew{.kind = "skew_version"};
    skew.parameters["rank"] = {.options = {{.type = ValueType::ranks, .list = {1}}}};
    skew.parameters["package"] = {.options = {{.type = ValueType::text, .text = "nccl"}}};
    skew.parameters["version"] = {.options = {{.type = ValueType::text, .text = version}}};
    return skew;
}

std::vector<Code> errors_of(const Record& record) {
    std::vector<Code> codes;
    for (const results::Event* event : record.evidence.each<results::CommError>())
        codes.push_back(event->as<results::CommError>()->code);
    return codes;
}

TEST_F(DeviceGpu, EveryWorkloadComputesWhatItDoesInTheSimulator) {
    for (const auto& workload : vocabulary().workloads) {
        SCOPED_TRACE(workload.name);
        if (!workload.launcher.empty()) continue;  // all ranks are started together
        if (workload.own_words) continue;          // the simulator alone plays it
        const auto job = small_job(workload.name, 4);
        const Record real = play(job);
        const auto simulated = SimRunner().run(resolved(job, SimRunner().capabilities()), {});
        ASSERT_TRUE(simulated) << simulated.error().text();
        EXPECT_THAT(real.truth.ends, Each(RankEnd::finished));
        EXPECT_EQ(real.truth.ends.size(), 4u);
        EXPECT_EQ(computed(real), computed(*simulated));
        EXPECT_FALSE(computed(real).empty());
        EXPECT_THAT(symptoms(real), testing::IsEmpty());
    }
}

TEST_F(DeviceGpu, TheReportSaysWhatItWasPlayedOn) {
    const auto machine = find_gpus();
    ASSERT_TRUE(machine) << machine.error().text();
    const Record record = play(small_job());
    EXPECT_THAT(record.notes, Contains(HasSubstr(machine->text())));
    EXPECT_THAT(machine->text(), HasSubstr(machine->standin ? "without a GPU" : machine->devices.front()));
}

TEST_F(DeviceGpu, SeveralRanksShareADevice) {
    setenv("CUDA_VISIBLE_DEVICES", "0", 1);
    const Record record = play(small_job());
    EXPECT_THAT(record.truth.ends, ElementsAre(RankEnd::finished, RankEnd::finished));
}

TEST_F(DeviceGpu, TheLauncherEndsTheOthersAndReports) {
    auto job = small_job();
    job.faults.push_back(fault("kill_rank", 1));
    const Record record = play(job);
    EXPECT_THAT(record.truth.ends, ElementsAre(RankEnd::killed, RankEnd::killed));
    EXPECT_THAT(log_of(record, results::no_rank), HasSubstr("rank      : 1 (local_rank: 1)"));
    const auto stops = record.evidence.each<results::JobStop>();
    ASSERT_EQ(stops.size(), 1u);
    EXPECT_EQ(stops.front()->as<results::JobStop>()->code, 1);
}

TEST_F(DeviceGpu, ADeadPeerOnTheSameHostIsSilence) {
    auto job = small_job("data_parallel", 2, "bare");
    job.faults.push_back(fault("kill_rank", 1));
    const Record record = play(job);
    EXPECT_THAT(record.truth.ends, ElementsAre(RankEnd::stuck, RankEnd::killed));
    EXPECT_THAT(symptoms(record), Contains("collective_deadlock_hang"));
    EXPECT_THAT(errors_of(record), testing::IsEmpty());
}

TEST_F(DeviceGpu, ADeadPeerOnAnotherHostIsAnAsynchronousError) {
    auto job = small_job("data_parallel", 1, "bare");
    job.cluster["nodes"] = testing_ranks::of_cluster("nodes", "2");
    job.cluster["watchdog"] = testing_ranks::of_cluster("watchdog", "true");
    job.faults.push_back(fault("kill_rank", 1));
    const Record record = play(job);
    EXPECT_THAT(record.truth.ends, ElementsAre(RankEnd::killed, RankEnd::killed));
    EXPECT_THAT(errors_of(record), ElementsAre(Code::remote_error));
    EXPECT_THAT(log_of(record, 0), HasSubstr("NCCL WARN"));
}

TEST_F(DeviceGpu, AStoppedRankHangsTheJobUntilTheWatchdogOutside) {
    auto job = small_job();
    job.faults.push_back(fault("stop_rank", 1));
    const Record record = play(job);
    EXPECT_THAT(record.truth.ends, ElementsAre(RankEnd::stuck, RankEnd::stopped));
    EXPECT_THAT(symptoms(record), Contains("collective_deadlock_hang"));
}

TEST_F(DeviceGpu, ABitFlippedOnTheDeviceIsAWrongNumber) {
    auto job = small_job();
    const Record healthy = play(job);
    job.faults.push_back(fault("flip_bits", 1));
    const Record record = play(job);
    EXPECT_THAT(record.truth.ends, ElementsAre(RankEnd::finished, RankEnd::finished));
    EXPECT_NE(computed(record), computed(healthy));
}

TEST_F(DeviceGpu, CommunicatorsThatDoNotBlockComputeTheSame) {
    for (const char* workload : {"data_parallel", "pipeline"}) {
        auto job = small_job(workload, 4);
        const Record blocking = play(job);
        job.faults.push_back(set_on({0, 1, 2, 3}, "TORCH_NCCL_USE_COMM_NONBLOCKING", "1"));
        const Record record = play(job);
        EXPECT_THAT(record.truth.ends, Each(RankEnd::finished)) << workload;
        EXPECT_EQ(computed(record), computed(blocking)) << workload;
        EXPECT_THAT(errors_of(record), testing::IsEmpty());
    }
}

// NCCL itself has no time-out. A communicator that blocks waits; one that does not is asked, given up and
// aborted while it is still in progress.
TEST_F(DeviceGpu, APeerThatStallsInSetupIsAnErrorOnlyWhereCommunicatorsDoNotBlock) {
    auto job = small_job("data_parallel", 2, "bare");
    job.faults.push_back(fault("stop_rank", 1, "comm_init"));
    job.faults.back().when.values.erase("step");
    const Record blocking = play(job);
    EXPECT_THAT(blocking.truth.ends, ElementsAre(RankEnd::stuck, RankEnd::stopped));
    EXPECT_THAT(errors_of(blocking), testing::IsEmpty());
    job.faults.push_back(set_on({0, 1}, "TORCH_NCCL_USE_COMM_NONBLOCKING", "1"));
    job.faults.push_back(set_on({0, 1}, "TORCH_NCCL_NONBLOCKING_TIMEOUT", "20"));
    const Record record = play(job);
    EXPECT_THAT(record.truth.ends, ElementsAre(RankEnd::failed, RankEnd::stopped));
    EXPECT_THAT(errors_of(record), ElementsAre(Code::timeout));
    EXPECT_THAT(log_of(record, 0), HasSubstr("DistBackendError: NCCL timeout in: "));
}

TEST_F(DeviceGpu, ARankThatClaimsAnotherReleaseIsRefusedByNcclItself) {
    auto job = small_job();
    job.faults.push_back(another_nccl("2.27.7"));
    const Record record = play(job);
    EXPECT_THAT(errors_of(record), Contains(Code::invalid_usage));
    EXPECT_THAT(log_of(record, 0) + log_of(record, 1), HasSubstr("Mismatched NCCL version detected"));
}

// Not claimed but loaded: that release needs a GPU itself, says so, and is what the rank reports to have.
TEST_F(DeviceGpu, ARankThatHasAnotherReleaseFailsInItsWordsOnTheDropIn) {
    const fs::path release = tests::cache_of_deadrank() / "nccl/2.21.5";
    if (!fs::exists(release / "libnccl.so.2")) GTEST_SKIP() << "no NCCL 2.21.5: './dev tools' fetches it";
    if (!find_gpus()->standin) GTEST_SKIP() << "with a GPU it would run, and hang over the unique id";
    setenv("DEADRANK_NCCL_PATH", release.c_str(), 1);
    auto job = small_job();
    job.faults.push_back(another_nccl("2.21.5"));
    const Record record = play(job);
    unsetenv("DEADRANK_NCCL_PATH");
    EXPECT_THAT(errors_of(record), ElementsAre(Code::unhandled_device_error));
    EXPECT_THAT(log_of(record, 1), AllOf(HasSubstr("unhandled cuda error"), HasSubstr("NCCL version 2.21.5"),
                                         HasSubstr("not supported in the installed CUDA driver")));
    for (const results::Event* event : record.evidence.each<results::RankStart>()) {
        const auto versions = record.evidence.text(event->as<results::RankStart>()->versions);
        EXPECT_EQ(versions.find("nccl=2.21.5") != versions.npos, event->rank == 1) << versions;
    }
}

TEST(GpuLevers, ReachTheVariablesThatMeanSomething) {
    RealLevers without(gpu_reach(true), 4, 2, 0), with(gpu_reach(false), 4, 2, 0);
    EXPECT_FALSE(without.pull(inject::SetEnv{0, "NCCL_ALGO", "Tree"}))
        << "a fault without effect is no fault";
    EXPECT_TRUE(without.pull(inject::SetEnv{0, "NCCL_HOSTID", "elsewhere"}));
    EXPECT_TRUE(with.pull(inject::SetEnv{0, "NCCL_ALGO", "Tree"}));
    EXPECT_FALSE(with.pull(inject::SetVersion{0, "torch", "2.6.0"}));
    EXPECT_TRUE(with.pull(inject::SetVersion{0, "nccl", "2.27.7"}));
    sim::Call call{.rank = 0, .op = results::Op::all_reduce};
    with.under_way(&call);
    EXPECT_TRUE(with.pull(inject::AlterCall{0, {.op = results::Op::broadcast}}));
    EXPECT_EQ(call.op, results::Op::broadcast);
}

TEST(GpuLevers, AreNamedAsFaultsAskForThem) {
    const auto names = RealLevers::names(gpu_reach(true));
    EXPECT_THAT(names,
                testing::IsSupersetOf({"alter_call.operation", "set_version", "change_device.memory"}));
    EXPECT_THAT(names, testing::Not(testing::Contains("change_device.fault")));
}

}  // namespace
}  // namespace deadrank::runners
