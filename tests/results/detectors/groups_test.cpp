// tests/results/detectors/groups_test.cpp — Goal: what happens to a group is told of its members: a group
// that is stuck, a member that comes late, one that goes on when all others have left, members that read
// other samples, the few whom somebody asked to end.
#include "results/analysis/waits.h"
#include "tests/results/detectors/run_detector.h"

namespace deadrank::tests {
namespace {

constexpr CommId left = 2, right = 3;

// Eight ranks in two groups of four.
EvidenceBuilder two_groups(const std::string& name) {
    EvidenceBuilder job = three_steps(8);
    job.comm(left, name, {0, 1, 2, 3}).comm(right, name, {4, 5, 6, 7});
    return job;
}

TEST(AStuckGroup, IsNamedWhereOthersAreNot) {
    for (const bool both : {false, true}) {
        EvidenceBuilder job = two_groups("ep");
        if (!both) job.collective(left, 1, {0, 1, 2, 3}, Op::all_to_all);
        for (const Rank rank : {0, 1, 2, 3}) {
            if (both) job.enters(rank, left, 1, Op::all_to_all);
        }
        for (const Rank rank : {4, 5, 6, 7}) job.enters(rank, right, 1, Op::all_to_all);
        const Finding found = found_by("collective_hang", job.watched(5min));
        EXPECT_EQ(found.blame.ranks, both ? ranks({}) : ranks({4, 5, 6, 7}));
        EXPECT_EQ(found.blame.nodes, both ? std::vector<std::int32_t>{} : std::vector<std::int32_t>{1});
    }
}

TEST(ALatecomer, IsNamedWhereNobodyLeavesTheCall) {
    for (const Time late : {Time(1ms), Time(5s)}) {
        EvidenceBuilder job(4);
        job.start().world();
        for (std::int64_t step = 0; step < 4; ++step) job.step(step).after(1ms);
        for (const Rank rank : {0, 1, 3}) job.enters(rank, 1, job.seq() + 1);
        job.after(late).enters(2, 1, job.seq() + 1);
        EXPECT_EQ(found_by("collective_hang", job.watched(5min)).blame.ranks,
                  late > 1s ? ranks({2}) : ranks({}));
    }
}

// Three steps were planned, or nobody knows; one rank, or two of four, or all but one begin a fourth.
TEST(WhoGoesOnAfterTheEnd, IsToldFromWhoLeftTooEarly) {
    const auto blamed = [](const std::vector<Rank>& go_on, const char* planned) {
        EvidenceBuilder job(4);
        job.start().world();
        if (*planned) job.add(0, RankConfig{job.text("steps"), job.text(planned)});
        job.step(0).step(1).step(2);
        for (const Rank rank : job.everybody()) {
            if (std::find(go_on.begin(), go_on.end(), rank) == go_on.end()) {
                job.exits(rank, 0);
            } else {
                job.add(rank, StepBegin{3}).enters(rank, 1, job.seq() + 1);
            }
        }
        return found_by("collective_hang", job.watched(5min)).blame.ranks;
    };
    EXPECT_EQ(blamed({3}, ""), ranks({3}));
    EXPECT_EQ(blamed({2, 3}, ""), ranks({0, 1}));
    EXPECT_EQ(blamed({1, 2, 3}, ""), ranks({0}));
    EXPECT_EQ(blamed({2, 3}, "3"), ranks({2, 3}));
    EXPECT_EQ(blamed({1, 2, 3}, "3"), ranks({1, 2, 3}));
    EXPECT_EQ(blamed({3}, "4"), ranks({0, 1, 2}));
}

// Each rank reads two samples in step 3: those of its group, but for `odd`, which reads its own.
Findings fed(const std::string& name, const std::vector<Rank>& odd, Op first, Dtype dtype) {
    EvidenceBuilder job = two_groups(name);
    for (const Rank rank : job.everybody()) {
        const bool own = std::find(odd.begin(), odd.end(), rank) != odd.end();
        job.add(rank, DataBatch{3, 0, own ? 100 + rank * 2 : rank / 4 * 2, 2, 1, TextId::none});
    }
    for (const Rank rank : job.everybody()) job.enters(rank, rank / 4 + left, 1, first, 16, dtype);
    return asked("sample_coverage", job.watched());
}

TEST(SamplesOfAGroup, AreTheSameForAllWhoComputeOneModel) {
    for (const char* name : {"tp", "cp"}) {
        const Findings found = fed(name, {5}, Op::all_gather, Dtype::f32);
        ASSERT_EQ(found.size(), 1u) << name;
        EXPECT_EQ(found[0].blame.ranks, ranks({5}));
        EXPECT_EQ(found[0].blame.step, 3);
    }
    const Findings all = fed("tp", {0, 1, 2, 3, 4, 5, 6, 7}, Op::all_gather, Dtype::f32);
    ASSERT_EQ(all.size(), 1u);
    EXPECT_EQ(all[0].blame.ranks, ranks({0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST(SamplesOfAGroup, AreNobodysBusinessWhereTheEvidenceDoesNotSayWhoSharesThem) {
    EXPECT_TRUE(fed("tp", {}, Op::all_gather, Dtype::f32).empty());
    EXPECT_TRUE(fed("tp", {5}, Op::broadcast, Dtype::f32).empty()) << "one hands its own to the others";
    EXPECT_TRUE(fed("cp", {5}, Op::all_to_all, Dtype::i64).empty()) << "tokens go round";
    EXPECT_TRUE(fed("sp", {5}, Op::all_to_all, Dtype::f32).empty()) << "each may bring its own";
    EXPECT_TRUE(fed("pp", {5, 6}, Op::all_gather, Dtype::f32).empty()) << "stages between need no samples";
    EXPECT_EQ(fed("pp", {7}, Op::all_gather, Dtype::f32).size(), 1u);
}

// A launcher saw some of a node end and ended the others; or somebody asked all of them.
TEST(ARequestToEnd, IsToldOfThoseWhoGotItFirst) {
    const auto told = [](bool launcher_saw_it, Time later) {
        EvidenceBuilder job = three_steps(8);
        for (const Rank rank : {4, 5, 6, 7}) job.after(1ms).exits(rank, -15, 15);
        job.after(later);
        if (launcher_saw_it)
            job.log(no_rank, "failed (exitcode: -15) local_rank: 0 (pid: 1004) of binary: /usr/bin/python3");
        for (const Rank rank : {0, 1, 2, 3}) job.exits(rank, -15, 15);
        job.add(no_rank, JobStop{1, job.text("the end")});
        return found_by("restart_failure", job.watched(1s)).blame;
    };
    EXPECT_EQ(told(true, 100ms).nodes, std::vector<std::int32_t>{1});
    EXPECT_EQ(told(true, 100ms).ranks, ranks({4, 5, 6, 7}));
    EXPECT_EQ(told(true, 1ms).ranks, ranks({}));
    EXPECT_EQ(told(false, 100ms).ranks, ranks({}));
}

// Ranks that had worked and do not find together again have failed to recover; those that never worked, to
// start.
TEST(ARejoin, ThatFailsIsAFailedRecovery) {
    for (const bool had_worked : {true, false}) {
        EvidenceBuilder job(4);
        job.start();
        if (had_worked) job.world().step(0).step(1);
        job.exits(1, -6, 6).after(100ms);
        for (const Rank rank : {0, 2, 3}) job.exits(rank, -15, 15);
        job.after(1s).add(no_rank, Restart{1}).after(1s).start().after(5min);
        for (const Rank rank : job.everybody()) {
            job.log(rank,
                    "torch.distributed.DistStoreError: Timed out after 301 seconds waiting for clients. 0/4 "
                    "clients joined.");
            job.exits(rank, 1);
        }
        job.add(no_rank, JobStop{1, job.text("rank 0 failed")});
        const Evidence evidence = job.watched(1s);
        EXPECT_EQ(asked("setup_failure", evidence).empty(), had_worked);
        EXPECT_FALSE(asked("restart_failure", evidence).empty());
    }
}

// Groups of two. Ranks 0 and 1 end after all steps that they make. Rank 3 waits for a key that rank 2 should
// set.
TEST(SetupFailure, DoesNotBlameTheFinishedForWhatAnotherGroupWaitsFor) {
    const auto waits = [](std::int64_t theirs, std::int64_t own, int code = 0) {
        EvidenceBuilder job(4);
        job.start().world().comm(2, "replica0", {0, 1}).comm(3, "replica1", {2, 3});
        for (std::int64_t step = 0; step < std::max(theirs, own); ++step)
            for (const Rank rank : job.everybody())
                if (step < (rank < 2 ? theirs : own))
                    job.after(10ms).add(rank, StepBegin{step}).add(rank, StepEnd{step, 1, 1});
        for (const Rank rank : {0, 1}) job.exits(rank, code);
        job.after(30min).log(
            3, "Traceback\ntorch.distributed.DistStoreError: wait timeout after 1800000ms, keys: /group1/0");
        return job.exits(3, 1).watched();
    };
    EXPECT_EQ(found_by("setup_failure", waits(6, 0)).blame.ranks, ranks({3}));
    // Who leaves early, or after an error, is missed.
    EXPECT_EQ(found_by("setup_failure", waits(1, 1)).blame.ranks, ranks({0, 1}));
    EXPECT_EQ(found_by("setup_failure", waits(6, 0, 1)).blame.ranks, ranks({0, 1}));
}

}  // namespace
}  // namespace deadrank::tests
