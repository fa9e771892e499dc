// Goal: nine logs of the kinds that were once read wrongly, each with the answer that it has to get: outcome,
// ranks or device, cause and next step.
#include <algorithm>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <iterator>

#include "tests/results/incidents/incident_files.h"

namespace deadrank::tests {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string reference_log(const std::string& name) {
    std::ifstream file(DEADRANK_SOURCE_DIRECTORY "/tests/data/logs/" + name + ".log");
    EXPECT_TRUE(file) << name;
    return {std::istreambuf_iterator<char>(file), {}};
}

struct Expected {
    const char *log, *gist;
    const char* cause = "";  // the first, where one is asked for
    const char* device = "";
    const char *says = "", *next = "";
    const char* not_in_answer = nullptr;
};
void PrintTo(const Expected& one, std::ostream* out) { *out << one.log; }

class ReferenceLogs : public testing::TestWithParam<Expected> {};

TEST_P(ReferenceLogs, GetTheirAnswer) {
    const Expected& wanted = GetParam();
    IncidentFiles files;
    files.put("job.log", reference_log(wanted.log));
    const auto diagnosis = files.diagnosed();
    const std::string answer = files.answered();
    EXPECT_EQ(gist_of(diagnosis), wanted.gist) << answer;
    if (*wanted.cause) {
        ASSERT_FALSE(diagnosis.causes.empty());
        EXPECT_EQ(diagnosis.causes.front().cause, wanted.cause);
    }
    if (*wanted.device) {
        ASSERT_TRUE(diagnosis.finding);
        EXPECT_EQ(diagnosis.finding->blame.component, wanted.device);
    }
    if (diagnosis.finding) {
        EXPECT_THAT(diagnosis.finding->says, HasSubstr(wanted.says));
        const auto next = next_looks(diagnosis);
        ASSERT_FALSE(next.empty());
        EXPECT_THAT(next.front(), HasSubstr(wanted.next));
    }
    if (wanted.not_in_answer) {
        EXPECT_THAT(answer, Not(HasSubstr(wanted.not_in_answer)));
    }
    EXPECT_LE(std::count(answer.begin(), answer.end(), '\n'), 12);
}

constexpr const char* faulty = "hardware_or_link_fault";

INSTANTIATE_TEST_SUITE_P(
    Nine, ReferenceLogs,
    testing::Values(
        // Two "command not found" before the work. No known line says that the job completed.
        Expected{.log = "01_two_shell_complaints_then_done", .gist = "unknown"},
        Expected{.log = "02_mlperf_run_stop_success", .gist = "completed"},
        Expected{.log = "04_all_ranks_alike", .gist = "framework_runtime_exception of 0,1,2,3,4,5,6,7"},
        Expected{.log = "06_amd_gpu_hang",
                 .gist = "device_fault_reported",
                 .cause = faulty,
                 .device = "GPU node-6",
                 .next = "amd-smi"},
        Expected{.log = "08_hccl_comm_init", .gist = "communication_setup_failure of 0,1"},
        Expected{.log = "09_jax_connect_barrier",
                 .gist = "communication_setup_failure of 1,2,3",
                 .cause = "misconfigured_resource_or_distributed_settings"},
        // Rank 9 only waited, and "Rank 1" is its place in a subgroup.
        Expected{.log = "11_rank_of_a_subgroup",
                 .gist = "collective_timeout_abort",
                 .says = "rank 9 waited",
                 .not_in_answer = "rank 1"},
        Expected{.log = "13_no_kernel_image",
                 .gist = "framework_runtime_exception of 0,1",
                 .cause = "dependency_or_hardware_mismatch",
                 .next = "torch was built",
                 .not_in_answer = "MASTER_ADDR"},
        Expected{.log = "15_amd_memory_errors",
                 .gist = "device_fault_reported",
                 .cause = faulty,
                 .device = "GPU 0000:9d:00.0",
                 .says = "umc block (2 such lines)",
                 .next = "amd-smi"}),
    [](const auto& one) { return "Log" + std::string(one.param.log); });

// The rank that waited is named, so "no line names a rank" would be wrong of it.
TEST(ReferenceLog, WhoWaitsIsNotWhoIsToBlame) {
    const std::string answer =
        IncidentFiles().put("job.log", reference_log("11_rank_of_a_subgroup")).answered();
    EXPECT_THAT(answer, HasSubstr("no line shows who is to blame"));
    EXPECT_THAT(answer, Not(HasSubstr("no line names a rank")));
    EXPECT_THAT(IncidentFiles().put("job.log", "RuntimeError: CUDA out of memory\n").answered(),
                HasSubstr("no line names a rank"));
}

}  // namespace
}  // namespace deadrank::tests
