// tests/runners/backends/local/local_runner_test.cpp — Plans played in real PyTorch processes: what is seen,
// what is known, what is left.
#include "runners/backends/local/local_runner.h"

#include <gtest/gtest.h>
#include <set>

#include "runners/backends/process/mpirun.h"

namespace deadrank::runners {
namespace {

using results::RankEnd;
using scenarios::FaultSpec;
using scenarios::Plan;
using scenarios::Value;
using scenarios::ValueType;

Value number(ValueType type, std::int64_t value) { return {.type = type, .number = value}; }

// Two ranks, five steps, a time-out short enough for a test.
Plan small_local_job(const std::string& workload = "data_parallel") {
    Plan plan;
    plan.scenario = "test";
    plan.workload_kind = workload;
    plan.cluster["nodes"] = number(ValueType::integer, 1);
    plan.cluster["gpus_per_node"] = number(ValueType::integer, 2);
    plan.cluster["ranks"] = number(ValueType::integer, 2);
    plan.cluster["collective_timeout"] = number(ValueType::duration, 4'000'000'000);
    plan.workload["steps"] = number(ValueType::integer, 5);
    plan.workload["pp_size"] = number(ValueType::integer, 2);
    plan.workload["tp_size"] = number(ValueType::integer, 2);
    plan.workload["learning_rate"] = number(ValueType::ratio, 50'000'000);
    return plan;
}

FaultSpec on_rank_1(const std::string& kind) {
    FaultSpec fault{.kind = kind};
    fault.parameters["rank"] = {.type = ValueType::ranks, .list = {1}};
    return fault;
}

class DeviceLocalRunner : public testing::Test {
protected:
    void SetUp() override {
        if (const auto python = best_python(); !python) GTEST_SKIP() << python.error().text();
    }
    Record play(const Plan& plan) {
        auto record = LocalRunner().run(plan, {});
        if (!record) {
            ADD_FAILURE() << record.error().text();
            return {};
        }
        return std::move(*record);
    }
};

template <class Payload>
std::size_t count(const Record& record, results::Rank rank) {
    std::size_t found = 0;
    for (const results::Event* event : record.evidence.each<Payload>()) found += event->rank == rank;
    return found;
}

std::size_t all_reduces(const Record& record, results::Rank rank) {
    std::size_t found = 0;
    for (const results::Event* event : record.evidence.each<results::CollectiveEnter>()) {
        found += event->rank == rank && event->as<results::CollectiveEnter>()->op == results::Op::all_reduce;
    }
    return found;
}

std::set<std::uint64_t> last_digests(const Record& record, std::int64_t step) {
    std::set<std::uint64_t> digests;
    for (const results::Event* event : record.evidence.each<results::ParametersDigest>()) {
        const auto* shown = event->as<results::ParametersDigest>();
        if (shown->step == step) digests.insert(shown->digest);
    }
    return digests;
}

bool log_says(const Record& record, std::string_view words) {
    for (const results::Event* event : record.evidence.each<results::RankLog>()) {
        if (record.evidence.text(event->as<results::RankLog>()->line).find(words) != std::string_view::npos)
            return true;
    }
    return false;
}

// Goal: a healthy job shows every kind of thing a detector reads, on all ranks, and no harm.
TEST_F(DeviceLocalRunner, AHealthyJobIsSeenWhole) {
    for (const std::string workload : {"data_parallel", "zero", "tensor_parallel", "pipeline", "fsdp"}) {
        if (workload == "fsdp" && best_python()->major() < 2) continue;
        SCOPED_TRACE(workload);
        const Record record = play(small_local_job(workload));
        EXPECT_TRUE(record.truth.completed());
        EXPECT_TRUE(record.truth.marks.empty());
        for (const results::Rank rank : {0, 1}) {
            EXPECT_EQ(count<results::RankStart>(record, rank), 1u);
            EXPECT_EQ(count<results::StepBegin>(record, rank), 5u);
            EXPECT_EQ(count<results::StepEnd>(record, rank), 5u);
            EXPECT_EQ(count<results::DataBatch>(record, rank), 5u);
            EXPECT_EQ(count<results::RankExit>(record, rank), 1u);
            EXPECT_GE(count<results::CommInitLeave>(record, rank), 1u);
            EXPECT_EQ(count<results::CollectiveEnter>(record, rank),
                      count<results::CollectiveLeave>(record, rank));
            EXPECT_EQ(count<results::P2pEnter>(record, rank), count<results::P2pLeave>(record, rank));
            EXPECT_EQ(count<results::CommError>(record, rank), 0u);
        }
        for (const results::Event* event : record.evidence.each<results::RankLog>()) {
            const auto* log = event->as<results::RankLog>();
            EXPECT_EQ(log->level, 0) << record.evidence.text(log->line);
        }
        const bool replicated = workload == "data_parallel" || workload == "zero";
        EXPECT_EQ(last_digests(record, 4).size(), replicated ? 1u : 2u);
    }
}

// Goal: a rank that is killed before a call is seen to die by a signal; the truth knows when and where.
TEST_F(DeviceLocalRunner, AKilledRankIsSeenToDie) {
    Plan plan = small_local_job();
    FaultSpec kill = on_rank_1("kill_rank");
    kill.when.step = 2;
    kill.when.before = "all_reduce";
    plan.faults = {kill};
    const Record record = play(plan);
    ASSERT_TRUE(record.truth.applied());
    EXPECT_EQ(record.truth.culprit().ranks, (std::vector<results::Rank>{1}));
    EXPECT_EQ(record.truth.culprit().step, 2);
    ASSERT_EQ(record.truth.ends.size(), 2u);
    EXPECT_EQ(record.truth.ends[1], RankEnd::killed);
    int signal = 0;
    for (const results::Event* event : record.evidence.each<results::RankExit>()) {
        if (event->rank == 1) signal = event->as<results::RankExit>()->signal;
    }
    EXPECT_EQ(signal, 9);
    EXPECT_EQ(count<results::StepEnd>(record, 1), 2u);
    // Rank 0 hears of it from its lost connection, or torchrun ends it before that.
    EXPECT_TRUE(count<results::CommError>(record, 0) >= 1u || record.truth.ends[0] == RankEnd::killed);
    EXPECT_NE(record.truth.ends[0], RankEnd::finished);
    EXPECT_TRUE(log_says(record, "ChildFailedError"));
}

// Goal: without a launcher nobody ends the others; each rank's own end is seen.
TEST_F(DeviceLocalRunner, BareRanksEndEachByThemselves) {
    Plan plan = small_local_job();
    plan.cluster["launcher"] = {.type = ValueType::choice, .text = "bare"};
    FaultSpec kill = on_rank_1("kill_rank");
    kill.when.step = 1;
    plan.faults = {kill};
    const Record record = play(plan);
    ASSERT_EQ(record.truth.ends.size(), 2u);
    EXPECT_EQ(record.truth.ends[0], RankEnd::failed);
    EXPECT_EQ(record.truth.ends[1], RankEnd::killed);
    EXPECT_FALSE(log_says(record, "ChildFailedError"));
    EXPECT_TRUE(log_says(record, "onnection"));
}

// Goal: what a fault kept from happening is not in the evidence.
TEST_F(DeviceLocalRunner, ASkippedCollectiveIsNeverEntered) {
    Plan plan = small_local_job();
    FaultSpec skip = on_rank_1("skip_collective");
    skip.when.step = 4;
    skip.when.before = "all_reduce";
    skip.when.nth = 3;
    plan.faults = {skip};
    const Record record = play(plan);
    ASSERT_TRUE(record.truth.applied());
    EXPECT_EQ(all_reduces(record, 1) + 1, all_reduces(record, 0));
}

TEST_F(DeviceLocalRunner, AnEnvironmentOfOneRankIsItsOwn) {
    Plan plan = small_local_job();
    FaultSpec set = on_rank_1("set_env");
    set.parameters["name"] = {.type = ValueType::text, .text = "GLOO_SOCKET_IFNAME"};
    set.parameters["value"] = {.type = ValueType::text, .text = "eth99"};
    plan.faults = {set};
    const Record record = play(plan);
    EXPECT_TRUE(record.truth.applied());
    EXPECT_FALSE(record.truth.completed());
    EXPECT_TRUE(log_says(record, "Unable to find address for: eth99"));
    for (const results::Event* event : record.evidence.each<results::RankStart>()) {
        const std::string_view seen = record.evidence.text(event->as<results::RankStart>()->environment);
        EXPECT_EQ(seen.find("eth99") != std::string_view::npos, event->rank == 1);
    }
}

// Goal: a shifted shard trains another model, silently; only values can tell.
TEST_F(DeviceLocalRunner, AShiftedShardChangesValuesOnly) {
    const Record right = play(small_local_job("zero"));
    Plan plan = small_local_job("zero");
    FaultSpec shift = on_rank_1("shift_shard");
    shift.parameters["by"] = number(ValueType::integer, -4);
    plan.faults = {shift};
    const Record wrong = play(plan);
    EXPECT_TRUE(wrong.truth.applied());
    EXPECT_TRUE(wrong.truth.completed());
    EXPECT_NE(last_digests(right, 4), last_digests(wrong, 4));
    bool shown = false;
    for (const results::Event* event : wrong.evidence.each<results::ShardLayout>()) {
        const auto* layout = event->as<results::ShardLayout>();
        shown = shown || (event->rank == 1 && layout->offset == layout->length - 4);
    }
    EXPECT_TRUE(shown);
}

// Goal: a version mismatch is real, or it is refused with a reason; it is never pretended.
TEST_F(DeviceLocalRunner, AnotherTorchIsRealOrRefused) {
    Plan plan = small_local_job();
    FaultSpec skew = on_rank_1("skew_version");
    skew.parameters["package"] = {.type = ValueType::text, .text = "torch"};
    skew.parameters["version"] = {.type = ValueType::text, .text = "1.13"};
    plan.faults = {skew};
    const auto record = LocalRunner().run(plan, {});
    if (!python_with_torch("1.13") || best_python()->torch.starts_with("1.13")) {
        EXPECT_TRUE(record || record.error().code == scenarios::ErrorCode::unsupported);
        return;
    }
    ASSERT_TRUE(record) << record.error().text();
    EXPECT_FALSE(record->truth.completed());
    std::set<std::string> versions;
    for (const results::Event* event : record->evidence.each<results::RankStart>()) {
        versions.insert(std::string(record->evidence.text(event->as<results::RankStart>()->versions)));
    }
    EXPECT_EQ(versions.size(), 2u);
}

TEST_F(DeviceLocalRunner, WhatItCannotDoIsRefused) {
    Plan plan = small_local_job();
    FaultSpec drop{.kind = "drop_link"};
    plan.faults = {drop};
    plan.workload_kind = "serving";
    const auto record = LocalRunner().run(plan, {});
    ASSERT_FALSE(record);
    EXPECT_EQ(record.error().code, scenarios::ErrorCode::unsupported);
}

}  // namespace
}  // namespace deadrank::runners
