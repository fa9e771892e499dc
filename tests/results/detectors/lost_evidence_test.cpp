// tests/results/detectors/lost_evidence_test.cpp — Goal: what a rank did not write is never taken for what it
// did not do, now or when its evidence is judged later; other ranks are still seen.
#include "tests/results/detectors/run_detector.h"

namespace deadrank::tests {
namespace {

std::vector<Finding> all_found(const Evidence& evidence) {
    return results::detect(evidence, results::all_detectors());
}

// Rank 2 never comes to the fourth step's all-reduce.
EvidenceBuilder waits_for_rank_2() {
    EvidenceBuilder job = three_steps(4);
    for (const Rank rank : job.everybody_but(2)) job.enters(rank, 1, 4);
    return job;
}

TEST(LostEvidence, OfTheRankThatIsWaitedForAccusesNobody) {
    EvidenceBuilder seen = waits_for_rank_2();
    ASSERT_EQ(all_found(seen.watched(2min)).size(), 1u) << "nothing to lose";
    EvidenceBuilder job = waits_for_rank_2();
    job.add(2, EvidenceLost{job.text("OSError: No space left on device")});
    EXPECT_TRUE(all_found(job.watched(2min)).empty());
}

TEST(LostEvidence, OfAnotherRankHidesNothing) {
    EvidenceBuilder job = waits_for_rank_2();
    job.add(0, EvidenceLost{job.text("OSError: No space left on device")});
    const auto found = all_found(job.watched(2min));
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].blame.ranks, ranks({2}));
}

TEST(LostEvidence, LeavesWhatWasSeenBefore) {
    EvidenceBuilder job = waits_for_rank_2();
    job.after(2min).add(2, EvidenceLost{job.text("OSError: No space left on device")});
    EXPECT_EQ(all_found(job.watched()).size(), 1u);
}

TEST(LostEvidence, IsToldInASentence) {
    EvidenceBuilder job = three_steps(4);
    job.add(2, EvidenceLost{job.text("OSError: No space left on device")});
    EXPECT_THAT(results::lost_evidence(job.watched()),
                testing::ElementsAre(testing::AllOf(testing::HasSubstr("of rank 2 there is none after"),
                                                    testing::HasSubstr("No space left on device"))));
}

}  // namespace
}  // namespace deadrank::tests
