// tests/runners/explore/recording_of_test.cpp — Goal: what a recorded run did, it does again as a recording,
// at its own number of ranks and at another, and a rank that dies in it is found.
#include "runners/explore/recording_of.h"

#include <chrono>
#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "results/analysis/paces.h"
#include "results/detectors/detector.h"
#include "tests/results/evidence_builder.h"
#include "tests/support/healthy_run.h"
#include "tests/support/shell.h"

namespace deadrank::tests {
namespace {

using results::CollectiveEnter;
using results::Evidence;
using results::Rank;

Evidence recorded(const std::string& workload, const Words& settings, const Words& cluster) {
    return std::move(played(plan_of(workload, settings, cluster)).evidence);
}

Evidence again(const Evidence& evidence, const Words& cluster) {
    const auto job = runners::recording_of(evidence);
    EXPECT_TRUE(job) << job.error().text();
    return recorded("recording", {{"recording", sim::recording_text(job->recording)}}, cluster);
}

std::int64_t calls_of(const Evidence& evidence, Rank rank) {
    const auto all = evidence.each<CollectiveEnter>();
    return std::count_if(all.begin(), all.end(),
                         [&](const results::Event* one) { return one->rank == rank; });
}

double step_seconds(const Evidence& evidence) {
    const auto& steps = evidence.facts<results::analysis::Paces>().steps();
    EXPECT_FALSE(steps.empty());
    return std::chrono::duration<double>(steps.back().whole).count();
}

const Words two_nodes{{"nodes", "2"}, {"gpus_per_node", "2"}};

TEST(RecordingOf, DoesAgainWhatTheJobDid) {
    for (const char* workload : {"data_parallel", "zero", "fsdp", "tensor_parallel", "pipeline"}) {
        SCOPED_TRACE(workload);
        const Words settings = workload == std::string("pipeline")          ? Words{{"pp_size", "2"}}
                               : workload == std::string("tensor_parallel") ? Words{{"tp_size", "2"}}
                                                                            : Words{};
        const Evidence job = recorded(workload, settings, two_nodes);
        const Evidence copy = again(job, two_nodes);
        for (const Rank rank : {0, 3}) EXPECT_EQ(calls_of(copy, rank), calls_of(job, rank));
        EXPECT_EQ(copy.each<results::StepEnd>().size(), job.each<results::StepEnd>().size());
        EXPECT_EQ(copy.each<results::P2pEnter>().size(), job.each<results::P2pEnter>().size());
        EXPECT_NEAR(step_seconds(copy) / step_seconds(job), 1, 0.05);
        EXPECT_TRUE(results::detect(copy, results::all_detectors()).empty());
    }
}

TEST(RecordingOf, IsLiftedToMoreRanks) {
    const Evidence copy =
        again(recorded("data_parallel", {}, two_nodes), {{"nodes", "8"}, {"gpus_per_node", "8"}});
    EXPECT_EQ(copy.world_size(), 64);
    EXPECT_EQ(calls_of(copy, 63), calls_of(copy, 0));
    EXPECT_TRUE(results::detect(copy, results::all_detectors()).empty());
}

TEST(RecordingOf, ShowsARankThatDies) {
    const Evidence job = recorded("data_parallel", {}, two_nodes);
    const auto recording = runners::recording_of(job);
    ASSERT_TRUE(recording);
    scenarios::Plan plan = plan_of("recording", {{"recording", sim::recording_text(recording->recording)}},
                                   {{"nodes", "4"}, {"gpus_per_node", "2"}});
    scenarios::FaultSpec fault;
    fault.kind = "kill_rank";
    fault.parameters["rank"] = {.type = scenarios::ValueType::ranks, .list = {5}};
    fault.when.step = 3;
    plan.faults.push_back(fault);
    const auto findings = results::detect(played(plan).evidence, results::all_detectors());
    ASSERT_EQ(findings.size(), 1);
    EXPECT_EQ(findings.front().blame.ranks, std::vector<Rank>{5});
}

// A DDP trainer of three steps on two gloo ranks, as `deadrank watch --record` kept it.
constexpr const char* real_trainer = DEADRANK_SOURCE_DIRECTORY "/tests/data/recorded_trainer.jsonl";

// Fails if the job expects other steps than those that were recorded.
TEST(RecordingOf, OfARealProgramRaisesNoAlarm) {
    const auto trainer = results::read_evidence(real_trainer);
    ASSERT_TRUE(trainer) << trainer.error().text();
    for (const char* nodes : {"1", "32"}) {
        const Evidence copy = again(*trainer, {{"nodes", nodes}, {"gpus_per_node", "2"}});
        const auto findings = results::detect(copy, results::all_detectors());
        EXPECT_TRUE(findings.empty()) << nodes << " nodes: " << findings.front().says;
        EXPECT_EQ(copy.each<results::StepEnd>().size(), 3 * static_cast<std::size_t>(copy.world_size()));
    }
}

// The skeleton's fault acts in a step that the recording has, and the lost rank is found at both sizes.
TEST(RecordingOf, ARealProgramBecomesAScenarioThatPasses) {
    const auto place = std::filesystem::path(testing::TempDir()) / "deadrank_recorded_trainer";
    std::filesystem::remove_all(place);
    std::filesystem::create_directories(place);
    for (const int nodes : {1, 32}) {
        const Answer answer = shell(fmt::format(
            "cd '{0}' && unset DEADRANK_CATALOG && {1}/deadrank new communication/on_{3} --recording {2} "
            "--symptom native_crash_or_illegal_access && "
            "sed -i 's/^nodes = 1/nodes = {3}/' communication/on_{3}.toml && "
            "{1}/deadrank run ./communication/on_{3}.toml 2>&1",
            place.string(), DEADRANK_BINARY_DIRECTORY, real_trainer, nodes));
        EXPECT_EQ(answer.code, 0) << answer.out;
        EXPECT_THAT(answer.out, testing::HasSubstr("1 pass · 0 fail · 0 unknown"));
    }
    std::filesystem::remove_all(place);
}

// On a machine with fewer processors than ranks.
TEST(RecordingOf, LeavesOutTimeWithoutAProcessor) {
    EvidenceBuilder job(2);
    job.start().world();
    for (std::int64_t step = 0; step < 3; ++step) {
        for (const Rank rank : {0, 1}) job.add(rank, results::StepBegin{step});
        job.after(std::chrono::milliseconds(10)).collective(1, step + 1, {0, 1});
        job.add(1, results::ValueSample{step, job.text("processor_wait"), 0.004, std::nan("")});
        for (const Rank rank : {0, 1}) job.add(rank, results::StepEnd{step, 1, 1});
    }
    const auto found = runners::recording_of(job.watched());
    ASSERT_TRUE(found) << found.error().text();
    const auto computed = [&](std::size_t rank) {
        return found->recording.ranks[rank].steps[2].actions[0].before;
    };
    EXPECT_EQ(computed(0), std::chrono::milliseconds(10));
    EXPECT_EQ(computed(1), std::chrono::milliseconds(6));
}

TEST(RecordingOf, RefusesAJobThatFailed) {
    scenarios::Plan plan = plan_of("data_parallel", {}, two_nodes);
    scenarios::FaultSpec fault;
    fault.kind = "kill_rank";
    fault.parameters["rank"] = {.type = scenarios::ValueType::ranks, .list = {1}};
    fault.when.step = 3;
    plan.faults.push_back(fault);
    const auto refused = runners::recording_of(played(plan).evidence);
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().what.find("failed"), std::string::npos) << refused.error().what;
}

}  // namespace
}  // namespace deadrank::tests
