// tests/runners/releases/releases_test.cpp — Goal: three small bugs of published releases happen here as
// their reports say, on the release with the bug and not on the fixed one.
#include <gtest/gtest.h>

#include "runners/backends/process/mpirun.h"
#include "runners/releases/collection.h"
#include "runners/releases/release_results.h"
#include "tests/support/shell.h"

namespace deadrank::runners::releases {
namespace {

using tests::Answer;
using tests::shell;

const std::string program = "'" DEADRANK_BINARY_DIRECTORY "/deadrank'";

class DeviceReleases : public testing::TestWithParam<std::string> {};

TEST_P(DeviceReleases, ShowTheBugOfTheReportAndNotInTheFixedOne) {
    if (const auto python = best_python(); !python) GTEST_SKIP() << python.error().text();
    const Answer fetched = shell(program + " report releases --prepare " + GetParam());
    if (fetched.code != 0) GTEST_SKIP() << "its releases cannot be had here: " << fetched.out;
    const Answer played = shell(program + " run --releases " + GetParam() + " --no-heal --json 2>/dev/null");
    // Whether a detector noticed is another question; unknown means that the bug was not seen.
    EXPECT_TRUE(played.code == 0 || played.code == 1) << played.out;
    EXPECT_EQ(played.out.find("\"verdict\":\"unknown\""), std::string::npos) << played.out;
}

INSTANTIATE_TEST_SUITE_P(Small, DeviceReleases,
                         testing::Values("pearson_of_three_ranks_is_wrong",
                                         "resume_at_epoch_end_trains_an_empty_epoch",
                                         "last_batch_dropped_from_the_metric"),
                         [](const auto& one) { return one.param; });

TEST(DeviceReleaseLesson, IsMadeFromRealProcesses) {
    if (const auto python = best_python(); !python) GTEST_SKIP() << python.error().text();
    const std::string name = "pearson_of_three_ranks_is_wrong";
    const Answer fetched = shell(program + " report releases --prepare " + name);
    if (fetched.code != 0) GTEST_SKIP() << "its releases cannot be had here: " << fetched.out;
    const Answer lesson = shell(program + " learn " + name + " --show 2>&1");
    EXPECT_EQ(lesson.code, 0) << lesson.out;
    EXPECT_NE(lesson.out.find("with torchmetrics==0.8.1"), std::string::npos) << lesson.out;
    EXPECT_NE(lesson.out.find("the ranks differ from one process"), std::string::npos) << lesson.out;
}

// Goal: evidence is cut by where it comes from, and texts keep their numbers.
TEST(ReleaseEvidence, IsCutByWhereItComesFrom) {
    results::Evidence evidence;
    evidence.record({results::Time(0), 0, results::RankLog{0, evidence.text("a line")}});
    evidence.record({results::Time(1), 0, results::StepBegin{.step = 1}});
    evidence.record({results::Time(2), 0, results::ValueSample{1, evidence.text("loss"), 1.0, 2.0}});
    evidence.finish(results::Time(3));
    const auto texts = static_cast<std::uint32_t>(evidence.text("behind the last text"));
    EXPECT_EQ(evidence_up_to(evidence, EvidenceKind::plain, texts).events().size(), 1u);
    EXPECT_EQ(evidence_up_to(evidence, EvidenceKind::observed, texts).events().size(), 2u);
    const results::Evidence all = evidence_up_to(evidence, EvidenceKind::asserted, texts);
    ASSERT_EQ(all.events().size(), 3u);
    EXPECT_EQ(all.text(all.events().back().as<results::ValueSample>()->name), "loss");
}

}  // namespace
}  // namespace deadrank::runners::releases
