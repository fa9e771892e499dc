// tests/runners/backends/local/workloads_test.cpp — Goal: the programs by hand compute what they should,
// before a fault says otherwise: each layout what one rank alone would, each audit what it audits.
#include <cmath>
#include <gtest/gtest.h>
#include <map>
#include <set>

#include "runners/backends/local/local_runner.h"
#include "runners/backends/process/mpirun.h"
#include "tests/runners/backends/local/small_plan.h"

namespace deadrank::runners {
namespace {

class DeviceWorkloads : public testing::Test {
protected:
    void SetUp() override {
        if (const auto python = best_python(); !python) GTEST_SKIP() << python.error().text();
    }

    // Two ranks, four steps, with these settings. Where a framework is too old there is nothing to see.
    void play(const std::string& workload, const std::map<std::string, std::int64_t>& settings) {
        scenarios::Plan plan = small_plan(workload, 1, 2, 4);
        plan.workload["learning_rate"] = {.type = scenarios::ValueType::ratio, .number = 50'000'000};
        for (const auto& [name, number] : settings) plan.workload[name] = whole(number);
        auto record = LocalRunner().run(plan, {});
        if (!record && record.error().code == scenarios::ErrorCode::environment)
            GTEST_SKIP() << record.error().text();
        ASSERT_TRUE(record) << record.error().text();
        record_ = std::move(*record);
    }

    // Of all ranks and steps, in order of time.
    std::vector<results::ValueSample> values(std::string_view name) const {
        std::vector<results::ValueSample> found;
        for (const results::Event* event : record_.evidence.each<results::ValueSample>()) {
            const auto* sample = event->as<results::ValueSample>();
            if (record_.evidence.text(sample->name) == name) found.push_back(*sample);
        }
        return found;
    }

    void expect_as_it_should_be(std::string_view name) const {
        const auto found = values(name);
        EXPECT_EQ(found.size(), 8u) << name;  // two ranks, four steps
        for (const results::ValueSample& sample : found) {
            EXPECT_NEAR(sample.value, sample.expected, 1e-9 * std::abs(sample.expected))
                << name << " in step " << sample.step;
        }
    }

    results::Evidence& evidence() { return record_.evidence; }

private:
    Record record_;
};

TEST_F(DeviceWorkloads, ASequenceCutOverRanksTrainsAsOneRankAloneWould) {
    play("context_parallel", {{"cp_size", 2}, {"width", 16}, {"reference", 1}});
    if (IsSkipped()) return;
    expect_as_it_should_be("reference.parameters");
    expect_as_it_should_be("reference.loss");
}

TEST_F(DeviceWorkloads, ExpertsSpreadOverRanksTrainAsOneRankAloneWould) {
    play("expert_parallel", {{"ep_size", 2}, {"experts", 4}, {"reference", 1}});
    if (IsSkipped()) return;
    expect_as_it_should_be("reference.parameters");
    expect_as_it_should_be("reference.loss");
}

TEST_F(DeviceWorkloads, ShardsOfTorchsOwnAndDropoutTrainAsOneRankAloneWould) {
    play("fsdp", {{"dropout", 3}, {"reference", 1}});
    if (IsSkipped()) return;
    expect_as_it_should_be("reference.parameters");
    expect_as_it_should_be("reference.loss");
    std::map<std::int64_t, std::set<double>> seeds;  // by step; each of the two ranks drops its own features
    for (const results::ValueSample& sample : values("dropout.seed")) seeds[sample.step].insert(sample.value);
    EXPECT_EQ(seeds.size(), 4u);
    for (const auto& [step, of_ranks] : seeds) EXPECT_EQ(of_ranks.size(), 2u) << "in step " << step;
}

TEST_F(DeviceWorkloads, GradientsOfMicroBatchesAndOfRanksAddUp) {
    play("data_parallel", {{"batch", 4}, {"micro_batches", 2}, {"audit", 1}});
    if (IsSkipped()) return;
    expect_as_it_should_be("gradient.accumulated");
    expect_as_it_should_be("gradient.reduced");
}

// Each skipped step is a step: it has a number, an end and no gradient.
TEST_F(DeviceWorkloads, AnOverflowIsSkippedByAllRanksAndHalvesTheScale) {
    play("mixed_precision", {{"loss_scale", 1 << 20}});
    if (IsSkipped()) return;
    std::map<std::int64_t, std::set<double>> scales;
    for (const results::ValueSample& sample : values("loss_scale")) scales[sample.step].insert(sample.value);
    ASSERT_EQ(scales.size(), 4u);
    for (const auto& [step, scale] : scales) EXPECT_EQ(scale.size(), 1u) << step;
    EXPECT_EQ(*scales[0].begin(), 1 << 20);
    EXPECT_EQ(*scales[1].begin(), 1 << 19);
    std::set<std::int64_t> ended;
    for (const results::Event* event : evidence().each<results::StepEnd>()) {
        const auto* end = event->as<results::StepEnd>();
        ended.insert(end->step);
        if (end->step > 0) continue;
        EXPECT_EQ(end->gradient_norm, 0);
    }
    EXPECT_EQ(ended, (std::set<std::int64_t>{0, 1, 2, 3}));
}

TEST_F(DeviceWorkloads, HalfTheRanksGoOnWithWhatAllHaveSaved) {
    play("reshard", {{"ranks_after", 1}});
    if (IsSkipped()) return;
    std::map<results::Rank, std::int64_t> steps;
    for (const results::Event* event : evidence().each<results::StepEnd>()) ++steps[event->rank];
    EXPECT_EQ(steps[0], 4);
    EXPECT_EQ(steps[1], 2);
    EXPECT_EQ(evidence().each<results::CheckpointSave>().size(), 2u);
    EXPECT_EQ(evidence().each<results::CheckpointLoad>().size(), 2u);  // rank 0 reads both shards
}

}  // namespace
}  // namespace deadrank::runners
