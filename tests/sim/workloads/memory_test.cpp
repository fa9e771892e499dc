// tests/sim/workloads/memory_test.cpp — Goal: what a workload keeps in device memory is what its layout
// keeps: shards of what is sharded, activations of one micro-batch, and nothing that grows.
#include <gtest/gtest.h>

#include "tests/support/healthy_run.h"

namespace deadrank {
namespace {

using results::Event;
using results::MemorySample;

constexpr std::int64_t mebibyte = 1 << 20;
constexpr std::int64_t context = 512;  // MiB, by default

// MiB of rank 0 at the start of each step: the most since the step before.
std::vector<std::int64_t> used(const std::string& workload, tests::Words settings) {
    settings["steps"] = "5";
    const runners::Record record = tests::played(tests::plan_of(workload, settings, {{"nodes", "2"}}));
    EXPECT_TRUE(record.truth.completed());
    std::vector<std::int64_t> found;
    for (const Event* event : record.evidence.each<MemorySample>()) {
        if (event->rank == 0) found.push_back(event->as<MemorySample>()->used / mebibyte - context);
    }
    return found;
}

std::int64_t steady(const std::string& workload, const tests::Words& settings) {
    const auto all = used(workload, settings);
    EXPECT_GE(all.size(), 3u);
    return all.back();
}

// 32 parameters on 8 ranks; a sample keeps 5 levels of 8 activations.
TEST(Footprint, IsWhatTheLayoutKeeps) {
    const tests::Words one_sample = {{"batch", "1"}};
    EXPECT_EQ(steady("data_parallel", one_sample), 4 * 32 + 40);
    EXPECT_EQ(steady("zero", one_sample), 32 + 32 + 2 * 4 + 40);
    EXPECT_EQ(steady("zero", {{"batch", "1"}, {"stage", "2"}}), 32 + 4 + 2 * 4 + 40);
    EXPECT_EQ(steady("zero", {{"batch", "1"}, {"stage", "3"}}), 4 + 4 + 2 * 4 + 32 + 40);
    EXPECT_EQ(steady("zero", {{"batch", "1"}, {"offload", "true"}}), 32 + 32 + 40);
    EXPECT_EQ(steady("tensor_parallel", {{"batch", "1"}, {"tp_size", "4"}}), 4 * 8 + 40);
    EXPECT_EQ(steady("fsdp", one_sample), 4 * 4 + 32 + 40);
}

TEST(Footprint, HoldsTheActivationsOfOneMicroBatch) {
    const auto all_at_once = steady("data_parallel", {{"batch", "8"}});
    const auto in_four = steady("data_parallel", {{"batch", "8"}, {"micro_batches", "4"}});
    EXPECT_EQ(all_at_once - in_four, 6 * 40);
}

// All but expert parallel, whose experts are as busy as the tokens of a step make them.
TEST(Footprint, NeitherGrowsNorShrinksFromStepToStep) {
    for (const char* workload : {"data_parallel", "zero", "tensor_parallel", "pipeline", "context_parallel",
                                 "fsdp", "mixed_precision", "serving"}) {
        const auto all = used(workload, {});
        ASSERT_GE(all.size(), 4u) << workload;
        for (std::size_t i = 2; i < all.size(); ++i) EXPECT_EQ(all[i], all[1]) << workload;
    }
}

// The first stage of 1F1B has as many micro-batches in flight as there are stages, the last has one.
TEST(Footprint, OfAPipelineIsLargestAtItsFirstStage) {
    const runners::Record record =
        tests::played(tests::plan_of("pipeline", {{"pp_size", "4"}, {"steps", "4"}}, {{"nodes", "1"}}));
    std::map<results::Rank, std::int64_t> most;
    for (const Event* event : record.evidence.each<MemorySample>())
        most[event->rank] = std::max(most[event->rank], event->as<MemorySample>()->used);
    EXPECT_EQ((most[0] - most[3]) / mebibyte, 3 * 3 * 8) << "three more micro-batches of three levels";
}

}  // namespace
}  // namespace deadrank
