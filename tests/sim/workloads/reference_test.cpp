// tests/sim/workloads/reference_test.cpp — Goal: without a fault every parallel workload is the one-rank
// training, parameter by parameter and step by step, in any shape. A scenario may blame a difference on its
// fault only because of this.
#include <gtest/gtest.h>
#include <limits>

#include "tests/support/healthy_run.h"

namespace deadrank {
namespace {

using results::Event;
using results::ValueSample;

struct Job {
    std::string name;
    std::string workload;
    tests::Words settings;
    tests::Words cluster = {{"nodes", "2"}};

    friend void PrintTo(const Job& job, std::ostream* out) { *out << job.name; }
};

std::vector<Job> jobs() {
    return {
        {"DataParallel", "data_parallel", {}},
        {"DataParallelInMicroBatches", "data_parallel", {{"batch", "6"}, {"micro_batches", "3"}}},
        {"DataParallelWithDropout", "data_parallel", {{"dropout", "4"}}},
        {"DataParallelWithAScaledRate", "data_parallel", {{"rate_scaling", "sqrt"}}},
        {"DataParallelByTokens", "data_parallel", {{"sample_tokens", "uneven"}, {"normalise", "step"}}},
        {"DataParallelAveragedByTokens",
         "data_parallel",
         {{"average_in_collective", "true"}, {"sample_tokens", "uneven"}, {"normalise", "step"}}},
        {"DataParallelClipped", "data_parallel", {{"clip", "1/100"}}},
        {"DataParallelAroundALayer", "data_parallel", {{"branch_one_in", "2"}, {"batch", "1"}}},
        {"DataParallelOverlapped", "data_parallel", {{"overlap", "backward"}, {"buckets", "4"}}},
        {"DataParallelOneReductionAfterTheOther", "data_parallel", {{"overlap", "off"}, {"buckets", "4"}}},
        {"DataParallelWithASecondTerm",
         "data_parallel",
         {{"auxiliary", "1/20"}, {"batch", "6"}, {"micro_batches", "3"}}},
        {"DataParallelWithAFrozenLayer", "data_parallel", {{"frozen_layer", "2"}}},
        {"DataParallelCountingItsSteps", "data_parallel", {{"optimizer_steps", "true"}}},
        {"DataParallelBesideHelpers",
         "data_parallel",
         {{"loader_workers", "2"}, {"compile_workers", "1"}, {"helper_ends", "wait"}}},
        {"DataParallelOverTriedLinks", "data_parallel", {{"expected_bandwidth", "100Gbps"}}},
        {"DataParallelFromACheckpoint", "data_parallel", {{"saved_ranks", "4"}, {"saved_pad", "12"}}},
        {"DataParallelAfterStepsOfFewerRanks",
         "data_parallel",
         {{"saved_ranks", "3"}, {"saved_steps", "2"}, {"optimizer_steps", "true"}}},
        {"Zero3AfterStepsOfMoreRanks", "zero", {{"stage", "3"}, {"saved_ranks", "20"}, {"saved_steps", "2"}}},
        {"TensorParallelAfterSteps",
         "tensor_parallel",
         {{"tp_size", "4"}, {"saved_ranks", "2"}, {"saved_steps", "2"}}},
        {"FsdpAfterStepsOfFewerRanks", "fsdp", {{"saved_ranks", "2"}, {"saved_steps", "2"}}},
        {"Zero1", "zero", {}},
        {"Zero1InAFlatBuffer", "zero", {{"bucket", "7"}, {"align", "16"}, {"unwritten", "nan"}}},
        {"Zero2ByTokensInMicroBatches",
         "zero",
         {{"stage", "2"},
          {"batch", "4"},
          {"micro_batches", "2"},
          {"sample_tokens", "uneven"},
          {"normalise", "step"}}},
        {"Zero1Clipped", "zero", {{"clip", "1/100"}}},
        {"Zero1AroundALayer", "zero", {{"branch_one_in", "2"}, {"bucket", "9"}, {"batch", "1"}}},
        {"Zero3FetchedByAllReduce", "zero", {{"stage", "3"}, {"fetch", "all_reduce"}, {"unwritten", "nan"}}},
        {"Zero3InASharedBuffer", "zero", {{"stage", "3"}, {"share_buffer", "true"}}},
        {"Zero3WithEmptyParameters", "zero", {{"stage", "3"}, {"empty_parameters", "2"}}},
        {"Zero2WithASecondTermByTokens",
         "zero",
         {{"stage", "2"}, {"auxiliary", "1/20"}, {"sample_tokens", "uneven"}, {"normalise", "step"}}},
        {"Zero2FromACheckpoint", "zero", {{"stage", "2"}, {"saved_ranks", "2"}}},
        {"Zero2OnThreeNodes", "zero", {{"stage", "2"}}, {{"nodes", "3"}}},
        {"Zero3InMicroBatches", "zero", {{"stage", "3"}, {"batch", "4"}, {"micro_batches", "2"}}},
        {"Zero1WithEmptyShards", "zero", {{"layers", "1"}}, {{"nodes", "4"}}},
        {"Zero2Offloaded", "zero", {{"stage", "2"}, {"offload", "true"}, {"layers", "1"}}, {{"nodes", "4"}}},
        {"TensorParallel", "tensor_parallel", {{"tp_size", "4"}}},
        {"TensorParallelWithDropout", "tensor_parallel", {{"tp_size", "2"}, {"dropout", "3"}}},
        {"TensorParallelWithReplicatedLayers",
         "tensor_parallel",
         {{"tp_size", "4"}, {"replicated_layers", "2"}}},
        {"TensorParallelFromACheckpoint",
         "tensor_parallel",
         {{"tp_size", "4"}, {"saved_ranks", "2"}, {"saved_pad", "24"}}},
        {"TensorParallelClipped", "tensor_parallel", {{"tp_size", "4"}, {"clip", "1/100"}}},
        {"TensorParallelClippedWithReplicatedLayers",
         "tensor_parallel",
         {{"tp_size", "2"}, {"replicated_layers", "1"}, {"clip", "1/100"}}},
        {"TensorParallelInGroupsMadeAtTheFirstCall",
         "tensor_parallel",
         {{"tp_size", "2"}, {"groups", "first_call"}}},
        {"TensorParallelInGroupsOfTheWorld", "tensor_parallel", {{"tp_size", "2"}, {"groups", "world"}}},
        {"Pipeline", "pipeline", {{"pp_size", "4"}}},
        {"PipelineInRounds", "pipeline", {{"pp_size", "2"}, {"batch", "16"}, {"rounds", "2"}}},
        {"PipelineInAsManyRoundsAsSamples", "pipeline", {{"pp_size", "2"}, {"rounds", "8"}}},
        {"PipelineInRoundsOfUnequalMicroBatches",
         "pipeline",
         {{"pp_size", "2"}, {"batch", "7"}, {"micro_batches", "4"}, {"rounds", "2"}}},
        {"PipelineOfUnevenMicroBatches",
         "pipeline",
         {{"pp_size", "2"}, {"batch", "16"}, {"uneven_micro_batches", "true"}}},
        {"PipelineInterleaved", "pipeline", {{"pp_size", "2"}, {"chunks", "2"}}},
        {"ExpertParallel", "expert_parallel", {{"ep_size", "4"}}},
        {"ContextParallelByRing", "context_parallel", {{"cp_size", "4"}}},
        {"ContextParallelByAllToAll", "context_parallel", {{"exchange", "all_to_all"}}},
        {"Fsdp", "fsdp", {}},
        {"FsdpAroundALayer", "fsdp", {{"branch_one_in", "2"}, {"batch", "1"}}},
        {"FsdpWithExpertsAroundALayer", "fsdp", {{"branch_one_in", "2"}, {"mixture", "4"}}},
        {"FsdpWithoutPrefetch", "fsdp", {{"prefetch", "false"}}},
        {"FsdpWithPaddedShards", "fsdp", {{"width", "12"}}},
        {"FsdpWithAlignedShards", "fsdp", {{"width", "12"}, {"align", "4"}}},
        {"FsdpOnOneRank", "fsdp", {}, {{"nodes", "1"}, {"gpus_per_node", "1"}}},
        {"FsdpWithDropout", "fsdp", {{"dropout", "4"}, {"batch", "3"}}},
        {"FsdpWithMoreRanksThanColumns", "fsdp", {{"layers", "2"}}, {{"nodes", "3"}}},
        {"FsdpClipped", "fsdp", {{"clip", "1/100"}}},
        {"FsdpFromACheckpoint", "fsdp", {{"saved_ranks", "3"}, {"saved_pad", "24"}}},
        {"MixedPrecision", "mixed_precision", {}},
        {"MixedPrecisionUnscaled", "mixed_precision", {{"loss_scale", "1"}}},
        {"MixedPrecisionInMicroBatches", "mixed_precision", {{"batch", "4"}, {"micro_batches", "2"}}},
        {"MixedPrecisionOnOneRank", "mixed_precision", {}, {{"nodes", "1"}, {"gpus_per_node", "1"}}},
    };
}

class EqualsTheReference : public testing::TestWithParam<Job> {};

TEST_P(EqualsTheReference, InParametersAndLossAtEveryStep) {
    constexpr std::int64_t steps = 6;
    tests::Words settings = GetParam().settings;
    settings["reference"] = "true";
    settings["steps"] = std::to_string(steps);
    const std::int64_t first = settings.contains("saved_steps") ? std::stoll(settings.at("saved_steps")) : 0;
    const runners::Record record =
        tests::played(tests::plan_of(GetParam().workload, settings, GetParam().cluster));
    ASSERT_TRUE(record.truth.completed());
    std::map<std::pair<results::Rank, std::string>, std::int64_t> compared;
    for (const Event* event : record.evidence.each<ValueSample>()) {
        const auto* sample = event->as<ValueSample>();
        const std::string name(record.evidence.text(sample->name));
        if (!name.starts_with("reference.")) continue;
        EXPECT_EQ(sample->value, sample->expected)
            << name << " of rank " << event->rank << " in step " << sample->step;
        EXPECT_GE(sample->step, first);
        ++compared[{event->rank, name}];
    }
    for (results::Rank rank = 0; rank < record.evidence.world_size(); ++rank) {
        for (const char* name : {"reference.parameters", "reference.loss"}) {
            EXPECT_EQ((compared[{rank, name}]), steps - first) << name << " of rank " << rank;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Workloads, EqualsTheReference, testing::ValuesIn(jobs()),
                         [](const auto& job) { return job.param.name; });

// A training that stood still would equal a reference that stood still.
TEST(Reference, LearnsAndMovesItsParameters) {
    for (const char* workload : {"data_parallel", "fsdp", "mixed_precision"}) {
        const runners::Record record =
            tests::played(tests::plan_of(workload, {{"reference", "true"}, {"steps", "12"}}));
        std::map<std::string, std::vector<double>> seen;
        for (const Event* event : record.evidence.each<ValueSample>()) {
            const auto* sample = event->as<ValueSample>();
            if (event->rank == 0)
                seen[std::string(record.evidence.text(sample->name))].push_back(sample->value);
        }
        const auto& parameters = seen["reference.parameters"];
        ASSERT_EQ(parameters.size(), 12u) << workload;
        for (std::size_t i = 1; i < parameters.size(); ++i)
            EXPECT_NE(parameters[i], parameters[i - 1]) << workload << " in step " << i;
    }
}

// An overflow anywhere makes every rank skip the step and halve the scale, until gradients fit.
TEST(MixedPrecision, HalvesTheScaleUntilNothingOverflowsAndStaysOneModel) {
    const runners::Record record =
        tests::played(tests::plan_of("mixed_precision", {{"loss_scale", "65536"}, {"steps", "10"}}));
    ASSERT_TRUE(record.truth.completed());
    std::map<results::Rank, std::vector<double>> scales;
    double last_overflow = 0;
    for (const Event* event : record.evidence.each<ValueSample>()) {
        const auto* sample = event->as<ValueSample>();
        const std::string_view name = record.evidence.text(sample->name);
        if (name == "loss_scale") scales[event->rank].push_back(sample->value);
        if (name == "overflow") last_overflow = sample->value;
    }
    ASSERT_EQ(scales.size(), 8u);
    EXPECT_LT(scales[0].back(), 65536) << "the scale never fell";
    EXPECT_EQ(last_overflow, 0) << "ten steps were not enough to find a scale";
    for (const auto& [rank, scale] : scales) EXPECT_EQ(scale, scales[0]) << "rank " << rank;
    std::map<std::int64_t, std::uint64_t> digests;
    for (const Event* event : record.evidence.each<results::ParametersDigest>()) {
        const auto* digest = event->as<results::ParametersDigest>();
        EXPECT_EQ(digests.try_emplace(digest->step, digest->digest).first->second, digest->digest)
            << "rank " << event->rank << " in step " << digest->step;
    }
}

}  // namespace
}  // namespace deadrank
