// tests/results/detectors/attempts_test.cpp — Attempts are told apart by the number that the launcher states,
// not by the order of stamps.
#include <gmock/gmock.h>

#include "results/analysis/lives.h"
#include "results/detectors/detector.h"
#include "tests/results/evidence_builder.h"

namespace deadrank::results {
namespace {

using namespace deadrank::tests;
using testing::ElementsAre;

const std::string again = "TORCHELASTIC_RESTART_COUNT=1";

// Two ranks train; rank 1 is killed. torchrun starts both again, and rank 1 is up before rank 0. The restart
// is stamped when rank 0's file is read. Rank 0's end is told late, after rank 1 is up again.
Evidence restarted_out_of_order(bool late_end) {
    EvidenceBuilder job(2);
    job.start().world().step(0).step(1).exits(1, 0, 9).after(50ms);
    if (!late_end) job.exits(0, 1).after(50ms);
    job.after(1s).start(1, job.environment(1, again)).after(20ms);
    if (late_end) job.exits(0, 1);
    job.after(30ms).add(no_rank, Restart{1, job.text("a rank failed")});
    job.start(0, job.environment(0, again)).world().step(0).step(1).step(2).all_exit();
    return job.watched();
}

TEST(Attempts, BelongToTheirNumber) {
    for (const bool late : {false, true}) {
        const Evidence evidence = restarted_out_of_order(late);
        const analysis::Lives& lives = evidence.facts<analysis::Lives>();
        ASSERT_EQ(lives.attempts(), 2);
        EXPECT_EQ(lives.started(0), 2);
        EXPECT_EQ(lives.started(1), 2) << "rank 1's second start was counted to the first attempt";
        EXPECT_EQ(lives.find(0, 1)->signal, 9);
        EXPECT_EQ(lives.find(0, 0)->code, 1) << "rank 0's end was lost, late = " << late;
        EXPECT_EQ(lives.find(1, 0)->code, 0);
        EXPECT_EQ(lives.find(1, 1)->started, lives.begins(1));
    }
}

TEST(Attempts, OfARestartBlameTheOneThatWasKilled) {
    for (const bool late : {false, true}) {
        const auto findings = detect(restarted_out_of_order(late), all_detectors());
        ASSERT_EQ(findings.size(), 1u) << "late = " << late;
        EXPECT_THAT(findings[0].blame.ranks, ElementsAre(1)) << findings[0].says;
    }
}

// A replica that its own launcher starts again states a count as well, and begins no attempt of the job.
TEST(Attempts, AreNotBegunByAProcessThatCameBackWhileTheOthersWentOn) {
    EvidenceBuilder job(2);
    job.start().world().step(0).exits(1, 1).after(1s).start(1, job.environment(1, again));
    job.step(1).step(2).exits(1, 1).exits(0, 1).after(1s);
    job.add(no_rank, Restart{1, job.text("a rank failed")});
    for (const Rank rank : {0, 1}) job.start(rank, job.environment(rank, again));
    job.world().step(1).all_exit();
    const Evidence evidence = job.watched();
    const analysis::Lives& lives = evidence.facts<analysis::Lives>();
    EXPECT_EQ(lives.find(0, 1)->finished, 2);
    EXPECT_EQ(lives.find(1, 1)->finished, 1);
}

// A gang of four is preempted, and ranks 1 and 3 do not come back. Rank 0 keeps the store and gives up first.
Finding gang_without_two(bool set_out, bool killed) {
    EvidenceBuilder job(4);
    job.start().world().step(0).step(1);
    for (const Rank rank : {0, 1, 2, 3}) job.exits(rank, -15, 15);
    job.after(30s).add(no_rank, Restart{1, job.text("requeued")});
    for (const Rank rank : {0, 1, 2, 3}) {
        const bool missing = rank % 2 == 1;
        if (missing && !set_out) continue;
        job.start(rank, job.environment(rank, again));
        job.add(rank, RendezvousEnter{rank, 4, job.text("node0:29500")});
    }
    job.after(20s).log(
        0,
        "Traceback (most recent call last):\ntorch.distributed.DistStoreError: Timed out after 21 "
        "seconds waiting for clients. 2/4 clients joined.");
    job.exits(0, 1).log(2,
                        "Traceback (most recent call last):\ntorch.distributed.DistNetworkError: Failed to "
                        "recv, got 0 bytes. Connection was likely closed.");
    job.exits(2, 1).after(30s);
    if (killed) job.exits(1, -9, 9).exits(3, -9, 9);  // by torchrun and mpirun, after their grace
    job.add(no_rank, JobStop{1, job.text("a rank failed")});
    const auto findings = detect(job.watched(60s), all_detectors());
    EXPECT_EQ(findings.size(), 1u);
    return findings.empty() ? Finding{} : findings.front();
}

TEST(Attempts, BlameThoseThatDidNotComeBackAndNotWhoWaited) {
    for (const auto& [set_out, killed] : {std::pair(false, false), {true, false}, {true, true}}) {
        const Finding found = gang_without_two(set_out, killed);
        EXPECT_EQ(found.symptom, "restart_or_recovery_failure");
        EXPECT_THAT(found.blame.ranks, ElementsAre(1, 3))
            << "set out: " << set_out << ", killed: " << killed << "\n"
            << found.says;
    }
}

}  // namespace
}  // namespace deadrank::results
