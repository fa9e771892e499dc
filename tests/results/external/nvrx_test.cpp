// Goal: the answers of NVIDIA's resiliency extension and of Meta's health check are understood, and the tools
// themselves, unmodified, read what we write.
#include "results/external/nvrx.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "results/external/foreign_detectors.h"
#include "tests/results/incident.h"

namespace deadrank::tests {
namespace {

using results::external::read_attribution;
using results::external::read_restart_response;
using testing::ElementsAre;

TEST(NvrxAnswers, NameTheFailureAndItsRank) {
    const auto verdict = read_restart_response(
        R"({"schema_version":"restart_agent_response.v1","decision":"RESTART","primary_failure":
            {"failure_class":"cuda_oom","rank":"7","signature":"CUDA out of memory"}})");
    ASSERT_TRUE(verdict);
    EXPECT_EQ(verdict->failure_class, "cuda_oom");
    EXPECT_EQ(verdict->rank, 7);
    EXPECT_EQ(results::external::symptom_of_failure_class("cuda_oom"), "device_out_of_memory");
    EXPECT_EQ(results::external::symptom_of_failure_class("user_cancelled"), "");
    const auto nothing = read_restart_response(
        R"({"schema_version":"restart_agent_response.v1","decision":"RESTART","primary_failure":null})");
    ASSERT_TRUE(nothing);
    EXPECT_EQ(nothing->failure_class, "");
    EXPECT_FALSE(read_restart_response(R"({"schema_version":"restart_agent_response.v2"})"));
    EXPECT_FALSE(read_restart_response("Traceback"));
}

TEST(NvrxAnswers, NameTheMissingRanksOfATable) {
    const auto rows = read_attribution(
        "PGID   | Process Group Desc        | Op Type    | Size   | Dtype    | Missing Ranks\n"
        "0      | default_pg,0              | nccl:all_reduce | 16     | Float    | 5,3\n"
        "1      | tp,1                      | nccl:all_reduce | 16     | Float    | \n\n");
    ASSERT_EQ(rows.size(), 1u);
    EXPECT_EQ(rows[0].group, "default_pg,0");
    EXPECT_EQ(rows[0].op, "nccl:all_reduce");
    EXPECT_THAT(rows[0].missing, ElementsAre(3, 5));
    EXPECT_TRUE(read_attribution("").empty());
}

TEST(C10d, TakesItsOwnWordsLiterally) {
    const auto timed_out = results::external::C10d().examine(incident());
    ASSERT_EQ(timed_out.size(), 1u) << "three ranks said the same";
    EXPECT_EQ(timed_out[0].symptom, "collective_timeout_abort");
    EXPECT_TRUE(timed_out[0].blame.ranks.empty()) << "a time-out names nobody";
    EvidenceBuilder story(4);
    story.start().world().log(
        0,
        "RuntimeError: Detected mismatch between collectives on ranks. Rank 0 is running "
        "collective: CollectiveFingerPrint(...), but Rank 2 is running collective: …");
    const auto mismatch = results::external::C10d().examine(story.watched());
    ASSERT_EQ(mismatch.size(), 1u);
    EXPECT_EQ(mismatch[0].symptom, "collective_mismatch_error");
    EXPECT_THAT(mismatch[0].blame.ranks, ElementsAre(2));
    EvidenceBuilder newer(4);  // torch 2.15
    newer.start().world().log(0,
                              "[TC][rank=0][name=0] Aborting process on rank 0 due to timeout - timeout "
                              "watchdog detected operation timeout");
    const auto late = results::external::C10d().examine(newer.watched());
    ASSERT_EQ(late.size(), 1u);
    EXPECT_EQ(late[0].symptom, "collective_timeout_abort");
    EXPECT_TRUE(results::external::C10d().examine(EvidenceBuilder(4).start().world().watched()).empty());
}

TEST(DeviceNvrx, RestartAgentReadsOurLogAndNamesAFailure) {
    const auto tool = results::external::NvrxRestartAgent::find();
    if (!tool) GTEST_SKIP() << tool.error().text();
    const auto findings = tool->examine(incident());
    ASSERT_EQ(findings.size(), 1u);
    // Release 0.7.0 takes the time-out for the root; the XID of the kernel's log before it was one.
    EXPECT_THAT(findings[0].symptom, testing::AnyOf("collective_timeout_abort", "device_fault_reported"))
        << findings[0].says;
    EXPECT_TRUE(
        tool->examine(EvidenceBuilder(4).start().world().step(1).step(2).all_exit().watched()).empty());
}

// It looks at scheduled entries alone, so a rank that is one call short behind started ones stays unseen.
TEST(DeviceNvrx, AttributionReadsOurDumps) {
    const auto tool = results::external::NvrxAttribution::find();
    if (!tool) GTEST_SKIP() << tool.error().text();
    EXPECT_NO_THROW((void)tool->examine(incident()));
}

TEST(DeviceGpucm, NamesTheNodeWithTheXid) {
    const auto tool = results::external::Gpucm::find();
    if (!tool) GTEST_SKIP() << tool.error().text();
    const auto findings = tool->examine(incident());
    ASSERT_EQ(findings.size(), 1u);
    EXPECT_EQ(findings[0].symptom, "device_fault_reported");
    EXPECT_THAT(findings[0].blame.nodes, ElementsAre(1));
}

}  // namespace
}  // namespace deadrank::tests
