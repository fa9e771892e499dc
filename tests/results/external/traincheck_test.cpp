// Goal: the linter is shown what the ranks were started with, its answer is understood, and the linter
// itself, unmodified, warns of what it knows and of nothing else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "results/external/foreign_detectors.h"
#include "tests/results/evidence_builder.h"

namespace deadrank::tests {
namespace {

using results::external::linted_configurations;
using results::external::LintViolation;
using results::external::read_lint;
using results::external::TraincheckLint;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// Two nodes with InfiniBand; the second one's ranks have this variable more.
Evidence job(const std::string& variable) {
    EvidenceBuilder story(8);
    for (const Rank rank : story.everybody())
        story.start(rank, story.environment(rank, rank < 4 ? "" : variable));
    story.world();
    story.add(no_rank, LinkSample{story.text("node0 mlx5_0"), 1, 0, 0, 0, 0});
    return story.watched();
}

TEST(Traincheck, IsShownWhatTheRanksWereStartedWith) {
    const auto all = linted_configurations(job("NCCL_IB_DISABLE=1"));
    ASSERT_EQ(all.size(), 2u);
    const auto& odd = all[0].processes.front() == 0 ? all[1] : all[0];
    EXPECT_THAT(odd.processes, ElementsAre(4, 5, 6, 7));
    EXPECT_THAT(odd.yaml, HasSubstr("  nodes: 2\n  interconnect: InfiniBand\n"));
    EXPECT_THAT(odd.yaml, HasSubstr("  NCCL_IB_DISABLE: 1\n"));
    EXPECT_THAT((&odd == &all[0] ? all[1] : all[0]).yaml, Not(HasSubstr("NCCL_IB_DISABLE")));
    EXPECT_EQ(linted_configurations(job("")).size(), 1u);
}

TEST(Traincheck, AnswersInJson) {
    const auto violations = read_lint(
        R"({"passed":false,"violations":[{"id":"NCCL-IB-001","severity":"error","message":"slow"}]})");
    ASSERT_TRUE(violations);
    EXPECT_THAT(*violations, ElementsAre(LintViolation{"NCCL-IB-001", "slow"}));
    EXPECT_TRUE(read_lint(R"({"violations":[]})")->empty());
    EXPECT_FALSE(read_lint("Traceback"));
    EXPECT_FALSE(read_lint(R"({"violations":7})"));
    EXPECT_EQ(results::external::symptom_of_lint_rule("DATALOADER-001"), "");
}

TEST(DeviceTraincheck, WarnsOfSocketsWhereThereIsInfiniBand) {
    const auto tool = TraincheckLint::find();
    if (!tool) GTEST_SKIP() << tool.error().text();
    const auto findings = tool->examine(job("NCCL_IB_DISABLE=1"));
    ASSERT_EQ(findings.size(), 1u);
    EXPECT_EQ(findings[0].symptom, "collective_transport_degraded");
    EXPECT_EQ(findings[0].blame.variable, "NCCL_IB_DISABLE");
    EXPECT_THAT(findings[0].blame.ranks, ElementsAre(4, 5, 6, 7));
    EXPECT_TRUE(tool->examine(job("")).empty());
    EXPECT_TRUE(tool->examine(job("NCCL_IB_TIMEOUT=abc")).empty()) << "it has no rule for that";
}

}  // namespace
}  // namespace deadrank::tests
