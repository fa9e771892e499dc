// tests/results/detectors/sides_test.cpp — Goal: where several ranks may be to blame, what they did before
// tells who is, and where nothing tells, all of them are named.
#include "tests/results/detectors/run_detector.h"

namespace deadrank::tests {
namespace {

TEST(CollectiveHang, TellsAllCirclesAndAllOfTheirRanks) {
    EvidenceBuilder job(8);
    job.start().world().comm(2, "left", {0, 1, 2, 3}).comm(3, "right", {0, 1, 2, 3});
    job.comm(4, "one", {4, 5}).comm(5, "other", {4, 5});
    for (const Rank rank : job.everybody()) job.add(rank, StepBegin{0});
    for (const Rank rank : {0, 2}) job.enters(rank, 2, 1, Op::all_gather);
    for (const Rank rank : {1, 3}) job.enters(rank, 3, 1, Op::barrier);
    job.enters(4, 4, 1).enters(5, 5, 1);
    for (const Rank rank : {6, 7}) job.enters(rank, 1, 1);
    const Finding found = found_by("collective_hang", job.watched(2min));
    EXPECT_EQ(found.blame.ranks, ranks({0, 1, 2, 3, 4, 5}));
    EXPECT_THAT(found.says,
                testing::HasSubstr("ranks 0,2 wait in all_gather (operation 1 of left) for ranks 1,3, which "
                                   "wait in barrier (operation 1 of right)"));
    EXPECT_THAT(found.says, testing::HasSubstr("rank 4 waits in all_reduce (operation 1 of one) for rank 5"));
}

// Rank 1 has nothing to sum up in step 3, and goes on to the world's call of step 4.
TEST(CollectiveHang, NamesTheStepOfACallLeftOutThoughTheRankWaitsInAnotherGroup) {
    EvidenceBuilder job(8);
    job.start().world().comm(2, "metrics", {0, 1, 2, 3});
    for (std::int64_t step = 0; step < 5; ++step) {
        for (const Rank rank : job.everybody())
            if (step < 4 || rank == 1 || rank > 3) job.add(rank, StepBegin{step});
        job.after(100ms);
        if (step == 4) {
            for (const Rank rank : {1, 4, 5, 6, 7}) job.enters(rank, 1, 5);
            break;
        }
        job.collective(1, step + 1, job.everybody());
        if (step < 3) job.collective(2, step + 1, {0, 1, 2, 3});
        for (const Rank rank : {0, 2, 3})
            if (step == 3) job.enters(rank, 2, 4);
        for (const Rank rank : job.everybody())
            if (step < 3 || rank == 1 || rank > 3) job.add(rank, StepEnd{step, 1, 1});
    }
    const Finding found = found_by("collective_hang", job.watched(2min));
    EXPECT_EQ(found.blame.ranks, ranks({1}));
    EXPECT_EQ(found.blame.step, 3);
}

// Two ranks gather lists whose lengths differ; before, rank 0's had always the length that it has now.
TEST(CollectiveHang, NamesBothOfTwoThatDifferUnlessOneDepartsFromItsHabit) {
    const auto gathers = [](std::int64_t before, std::int64_t rank_0, std::int64_t rank_1) {
        EvidenceBuilder job(2);
        job.start().world();
        for (std::int64_t seq = 1; seq <= 8; ++seq) {
            for (const Rank rank : {0, 1}) job.enters(rank, 1, seq, Op::all_gather, before);
            job.after(1ms);
            for (const Rank rank : {0, 1}) job.leaves(rank, 1, seq, Op::all_gather);
        }
        job.enters(0, 1, 9, Op::all_gather, rank_0).enters(1, 1, 9, Op::all_gather, rank_1);
        return found_by("collective_hang", job.watched(2min));
    };
    const Finding both = gathers(20, 22, 28);
    EXPECT_EQ(both.blame.ranks, ranks({0, 1}));
    EXPECT_THAT(both.says, testing::HasSubstr("28 elements against 22 (rank 1 against rank 0)"));
    EXPECT_EQ(gathers(20, 20, 28).blame.ranks, ranks({1}));
    EXPECT_EQ(gathers(28, 22, 28).blame.ranks, ranks({0}));
}

// Rank 0 meets its peers in the save of step 3, and they go on to step 4.
Finding save_of_one(bool others_pass_the_phase, bool all_met_in_a_save_before, bool saved_before) {
    EvidenceBuilder job(4);
    job.start().world();
    std::int64_t seq = 0;
    const auto phase = [&](Rank rank, std::int64_t step) {
        job.add(rank, PhaseBegin{step, Phase::checkpoint});
    };
    const auto ends = [&](Rank rank, std::int64_t step) {
        job.add(rank, PhaseEnd{step, Phase::checkpoint}).add(rank, StepEnd{step, 1, 1});
    };
    for (std::int64_t step = 0; step < 4; ++step) {
        for (const Rank rank : job.everybody()) job.add(rank, StepBegin{step});
        job.after(100ms).collective(1, ++seq, job.everybody());
        if (step == 3) break;
        if (step == 1 && saved_before)
            for (const Rank rank : job.everybody()) phase(rank, step);
        if (step == 1 && all_met_in_a_save_before) job.collective(1, ++seq, job.everybody(), Op::barrier);
        for (const Rank rank : job.everybody()) ends(rank, step);
    }
    ++seq;
    phase(0, 3);
    job.enters(0, 1, seq, Op::barrier);
    for (const Rank rank : {1, 2, 3}) {
        if (others_pass_the_phase) phase(rank, 3);
        ends(rank, 3);
        job.add(rank, StepBegin{4}).enters(rank, 1, seq);
    }
    return found_by("collective_hang", job.watched(2min));
}

TEST(CollectiveHang, NamesBothSidesOfTheFirstSaveThatOneRankCallsIn) {
    EXPECT_EQ(save_of_one(true, false, false).blame.ranks, ranks({0, 1, 2, 3}));
    EXPECT_EQ(save_of_one(true, true, true).blame.ranks,
              ranks({1, 2, 3}));                                        // all called before: they left it out
    EXPECT_EQ(save_of_one(true, false, true).blame.ranks, ranks({0}));  // nobody did: it is new
    EXPECT_EQ(save_of_one(false, false, false).blame.ranks, ranks({0}));  // rank 0 saves alone
}

// Somebody ends the wait of three ranks for rank 2.
TEST(NativeCrash, BlamesWhoWasWaitedForWhereAllThatWaitAreKilled) {
    const auto killed_after = [](Time waited) {
        EvidenceBuilder job = three_steps(4);
        for (const Rank rank : {0, 1, 3}) job.enters(rank, 1, 4);
        job.after(waited);
        for (const Rank rank : {0, 1, 3}) job.exits(rank, -9, 9);
        return found_by("native_crash", job.exits(2, -15, 15).watched());
    };
    const Finding found = killed_after(5s);
    EXPECT_EQ(found.blame.ranks, ranks({2}));
    EXPECT_THAT(found.says,
                testing::HasSubstr("rank 2 never entered all_reduce (operation 4 of world); ranks 0,1,3"));
    EXPECT_EQ(killed_after(500ms).blame.ranks, ranks({0, 1, 3}));
}

// Replicas in groups of one, and a group of four in which they call, or never do.
TEST(UnexpectedParallelization, IsSilentWhereACallIsMissingInAGroupThatReplicasMade) {
    const auto job_with = [](bool group) {
        EvidenceBuilder job(4);
        job.start().world();
        if (group) job.comm(2, "tp", job.everybody());
        for (const Rank rank : job.everybody()) job.comm(3 + static_cast<CommId>(rank), "dp", {rank});
        for (const Rank rank : job.everybody()) {
            job.add(rank, StepBegin{0}).enters(rank, 3 + static_cast<CommId>(rank), 1);
            job.leaves(rank, 3 + static_cast<CommId>(rank), 1).add(rank, StepEnd{0, 1, 1});
            job.add(rank, ParametersDigest{.step = 0, .group = job.text("replica")});
        }
        return job.watched();
    };
    EXPECT_EQ(found_by("unexpected_parallelization", job_with(false)).blame.ranks, ranks({0, 1, 2, 3}));
    expect_silence_of("unexpected_parallelization", job_with(true));
}

}  // namespace
}  // namespace deadrank::tests
