// tests/results/detectors/causes_test.cpp — Goal: the first candidate cause has ground in what the finding
// says: an argument, a rank, a device, a number, or a factor that is the size of a group.
#include "results/analysis/exception_words.h"
#include "results/analysis/setup_words.h"
#include "results/analysis/value_causes.h"
#include "tests/results/detectors/run_detector.h"

namespace deadrank::tests {
namespace {

using results::analysis::list_exception_causes;
using results::analysis::list_value_causes;
using results::analysis::size_between;

TEST(Causes, OfAnExceptionComeFromItsWords) {
    const std::vector<std::pair<std::string, std::string>> said = {
        {"TypeError: Trainer.__init__() got an unexpected keyword argument 'x'",
         "dependency_or_hardware_mismatch"},
        {"ValueError: Global rank 1 is not part of group cp", "rank_or_device_derivation_error"},
        {"RuntimeError: No backend type associated with device type cpu", "misused_framework_api"},
        {"KeyError: 'SLURM_NTASKS'", "misconfigured_environment_variable"},
        {"ValueError: trying to initialize the default process group twice!", "misused_framework_api"},
        {"AssertionError: train_batch_size is not equal to micro_batch * world_size",
         "misconfigured_resource_or_distributed_settings"},
        {"ZeroDivisionError: integer division or modulo by zero", "numeric_edge_case_error"},
        {"TypeError: must be real number, not 'DTensor'", "misaligned_parameters_tensors_or_model_structure"},
    };
    for (const auto& [words, cause] : said) {
        EvidenceBuilder job = three_steps(2);
        for (const Rank rank : {0, 1})
            job.log(rank, "Traceback (most recent call last):\n" + words).exits(rank, 1);
        EXPECT_EQ(found_by("runtime_exception", job.watched()).causes.front(), cause) << words;
    }
}

TEST(Causes, OfWhatOneRankAloneRaisesLookAtWhatItAloneSees) {
    const std::string words = "RuntimeError: Expected to have finished reduction in the prior iteration";
    EXPECT_EQ(list_exception_causes(words, true).front(), "misused_framework_api");
    EXPECT_EQ(list_exception_causes(words, false).front(), "rank_divergent_control_flow");
    EXPECT_EQ(list_exception_causes("SomeError: nobody knows", false).front(), "numeric_edge_case_error");
}

TEST(Causes, OfAFactorAreReductions) {
    EXPECT_EQ(size_between(4.51, 0.56, {4, 8}), 8);
    EXPECT_EQ(size_between(0.125, 0.5, {4, 8}), 4);
    EXPECT_EQ(size_between(3.0, 2.0, {1, 2, 4}), std::nullopt);
    EXPECT_EQ(size_between(3.0, 3.0, {1}), std::nullopt);
    EXPECT_EQ(size_between(1.0, 0.0, {2}), std::nullopt);
    EXPECT_EQ(list_value_causes("eval_loss", true).front(), "gradient_scaling_or_reduction_error");
    EXPECT_EQ(list_value_causes("evaluation.length", false).front(), "uneven_work_or_data_partition");
    EXPECT_EQ(list_value_causes("temperature", false).front(), "stale_or_missing_state_update");
}

// Two groups of two in a world of four; all ranks tell a value at once.
Finding told(const std::vector<std::pair<double, double>>& values) {
    EvidenceBuilder job = three_steps(4);
    job.comm(2, "dp", {0, 2}).comm(3, "dp", {1, 3}).after(1s);
    for (std::size_t rank = 0; rank < values.size(); ++rank)
        job.add(static_cast<Rank>(rank),
                ValueSample{3, job.text("check.scale"), values[rank].first, values[rank].second});
    return found_by("value_wrong", job.watched());
}

TEST(WrongValue, NamesTheGroupWhoseSizeTheFactorIs) {
    const Finding found = told({{4, 1}, {8, 2}, {1, 0.25}, {4, 1}});
    EXPECT_EQ(found.causes.front(), "gradient_scaling_or_reduction_error");
    EXPECT_NE(found.says.find("the factor between them is 4, and world has as many ranks"), std::string::npos)
        << found.says;
    EXPECT_NE(told({{2, 1}, {2, 1}, {6, 3}, {2, 4}}).says.find("2, and dp has as many ranks"), std::string::npos);
    EXPECT_EQ(told({{4, 1}, {2, 1}, {4, 1}, {4, 1}}).says.find("the size of"), std::string::npos);
}

TEST(WrongValue, TellsEachNumberWithItsRanks) {
    EXPECT_EQ(told({{5, 3}, {5, 3}, {5, 3}, {5, 3}}).says,
              "scale of ranks 0-3 is 5 in step 3 where 3 was expected");
    EXPECT_EQ(
        told({{2, 3}, {2, 3}, {3, 3}, {3, 2}}).says,
        "scale of ranks 0,1,3 is wrong in step 3: 2 where 3 was expected on ranks 0,1, and 3 where 2 was "
        "expected "
        "on rank 3");
}

TEST(SetupHang, AtTheStoreSpeaksOfTheStore) {
    EvidenceBuilder job(4);
    job.start();
    for (const Rank rank : {0, 1, 2}) job.add(rank, RendezvousEnter{rank, 4, job.text("node0:29500")});
    EXPECT_EQ(found_by("setup_hang", job.watched(5min)).causes.front(), "rendezvous_store_or_endpoint_error");
    EvidenceBuilder groups(4);
    groups.start().world();
    for (const Rank rank : {0, 1}) groups.joins(rank, 2, "dp", {0, 1, 2}, rank);
    EXPECT_EQ(found_by("setup_hang", groups.watched(5min)).causes.front(), "group_construction_error");
}

// Goal: of a wrong count of samples and a wrong number the first that was told stands for both.
TEST(ValueWrong, LeavesTheStepToACountOfSamplesThatWasToldFirst) {
    const auto told = [](bool count_first, std::int64_t step) {
        EvidenceBuilder job(2);
        job.start();
        for (const Rank rank : job.everybody()) {
            const ValueSample count{3, job.text("evaluation.samples"), 16, 14};
            const ValueSample loss{step, job.text("check.loss"), 4.625, 4.25};
            if (count_first) job.add(rank, count);
            job.add(rank, loss);
            if (!count_first) job.add(rank, count);
        }
        const Findings findings = results::detect(job.watched(), results::all_detectors());
        return findings.size() == 1 ? findings.front().symptom : "";
    };
    EXPECT_EQ(told(true, 3), "wrong_sample_coverage");
    EXPECT_EQ(told(false, 3), "wrong_intermediate_value");
    EXPECT_EQ(told(true, 2), "wrong_intermediate_value");
}

}  // namespace
}  // namespace deadrank::tests
