// tests/results/detectors/blame_test.cpp — Goal: a majority is no proof. What was agreed before, who departed
// from earlier rounds, and who sent nothing tell whom to blame; and one job that lacks a call is not several.
#include "tests/results/detectors/run_detector.h"

namespace deadrank::tests {
namespace {

struct Round {
    CollectiveEnter before;  // of all ranks, just before the exchange
    std::int64_t rounds = 8;
    std::vector<std::int64_t> sizes = {32, 32, 48, 32};
};

CollectiveEnter small_call(Op op, Dtype dtype, ReduceOp reduce = ReduceOp::none, std::int32_t root = -1) {
    return {.count = 1, .root = root, .op = op, .dtype = dtype, .reduce = reduce};
}

// Four ranks exchange 32 elements in each round; in the last one their sizes differ.
std::vector<Rank> blamed_for_sizes(const Round& round, bool in_the_same_step = true) {
    EvidenceBuilder job(4);
    job.start().world();
    std::int64_t seq = 0;
    for (std::int64_t step = 0; step <= round.rounds; ++step) {
        const auto begin = [&] {
            for (const Rank rank : job.everybody()) job.add(rank, StepBegin{step});
        };
        if (in_the_same_step) begin();
        ++seq;
        const CollectiveEnter& what = round.before;
        for (const Rank rank : job.everybody())
            job.enters(rank, 1, seq, what.op, what.count, what.dtype, what.root, what.reduce);
        job.after(1ms);
        for (const Rank rank : job.everybody()) job.leaves(rank, 1, seq, what.op);
        if (!in_the_same_step) begin();
        ++seq;
        for (const Rank rank : job.everybody()) {
            const bool last = step == round.rounds;
            const std::int64_t size = last ? round.sizes[static_cast<std::size_t>(rank)] : 32;
            job.enters(rank, 1, seq, Op::all_to_all, size);
        }
        job.after(1ms);
        if (step == round.rounds) break;
        for (const Rank rank : job.everybody()) job.leaves(rank, 1, seq, Op::all_to_all);
    }
    return found_by("collective_hang", job.watched(2min)).blame.ranks;
}

TEST(CollectiveHang, TakesTheSizeForRightThatTheGroupHasJustAgreedOn) {
    const auto largest = small_call(Op::all_reduce, Dtype::i64, ReduceOp::max);
    EXPECT_EQ(blamed_for_sizes({largest}), ranks({0, 1, 3}));
    EXPECT_EQ(blamed_for_sizes({largest, 0}), ranks({0, 1, 3}));
    EXPECT_EQ(blamed_for_sizes({largest, 8, {32, 32, 24, 32}}), ranks({2}));
    EXPECT_EQ(blamed_for_sizes({small_call(Op::all_reduce, Dtype::i64, ReduceOp::min), 8, {32, 32, 24, 32}}),
              ranks({0, 1, 3}));
    EXPECT_EQ(blamed_for_sizes({small_call(Op::all_gather, Dtype::i32)}), ranks({0, 1, 3}));
    EXPECT_EQ(blamed_for_sizes({small_call(Op::broadcast, Dtype::i64, ReduceOp::none, 2)}), ranks({0, 1, 3}));
    EXPECT_EQ(blamed_for_sizes({small_call(Op::broadcast, Dtype::i64, ReduceOp::none, 1)}), ranks({2}));
    // A flag of another type, a sum, or a step that is over tells nothing of sizes.
    EXPECT_EQ(blamed_for_sizes({small_call(Op::all_reduce, Dtype::f32, ReduceOp::max)}), ranks({2}));
    EXPECT_EQ(blamed_for_sizes({small_call(Op::all_reduce, Dtype::i64, ReduceOp::sum)}), ranks({2}));
    EXPECT_EQ(blamed_for_sizes({largest}, false), ranks({2}));
}

TEST(CollectiveHang, NamesBothSidesWhereNothingTellsWhoseSizeIsRight) {
    const auto sum = small_call(Op::all_reduce, Dtype::f32, ReduceOp::sum);
    EXPECT_EQ(blamed_for_sizes({sum, 8, {32, 32, 48, 32}}), ranks({2}));           // it changed its size
    EXPECT_EQ(blamed_for_sizes({sum, 8, {48, 48, 32, 48}}), ranks({0, 1, 2, 3}));  // most did, alike
    EXPECT_EQ(blamed_for_sizes({sum, 0, {32, 48, 48, 32}}), ranks({0, 1, 2, 3}));  // nobody came before
}

// Where nobody has come before, nothing speaks against three who agree: one goes by them, but not by two.
TEST(CollectiveHang, NamesOneOfFourWhoseSizeDiffersOnTheFirstLap) {
    const auto sum = small_call(Op::all_reduce, Dtype::f32, ReduceOp::sum);
    EXPECT_EQ(blamed_for_sizes({sum, 0, {32, 32, 48, 32}}), ranks({2}));
    EXPECT_EQ(blamed_for_sizes({sum, 0, {32, 32, 24, 32}}), ranks({2}));
    const auto of_three = [] {
        EvidenceBuilder job(3);
        job.start().world();
        for (const Rank rank : job.everybody())
            job.add(rank, StepBegin{0}).enters(rank, 1, 1, Op::all_to_all, rank == 2 ? 48 : 32);
        return found_by("collective_hang", job.watched(2min)).blame.ranks;
    };
    EXPECT_EQ(of_three(), ranks({0, 1, 2}));
}

// Those who receive know nothing of each other, and expect one size.
TEST(CollectiveHang, NamesARootWhoseSizeNobodyExpects) {
    const auto blamed = [](Rank root, Op op) {
        EvidenceBuilder job(4);
        job.start().world();
        for (const Rank rank : job.everybody())
            job.add(rank, StepBegin{0}).enters(rank, 1, 1, op, rank == 2 ? 32 : 64, Dtype::f32, root);
        return found_by("collective_hang", job.watched(2min)).blame.ranks;
    };
    EXPECT_EQ(blamed(2, Op::broadcast), ranks({2}));
    EXPECT_EQ(blamed(0, Op::broadcast), ranks({2}));  // three to one, and it is no root
}

// Rank 3 has gone on to another phase, where the same operation has another size: it left the call out.
TEST(CollectiveHang, TakesNoOtherCallForAnotherSize) {
    EvidenceBuilder job(4);
    job.start().world();
    for (const Rank rank : job.everybody()) {
        job.add(rank, StepBegin{0}).add(rank, PhaseBegin{0, rank == 3 ? Phase::optimizer : Phase::reduce});
        job.enters(rank, 1, 1, Op::all_reduce, rank == 3 ? 16 : 2);
    }
    EXPECT_EQ(found_by("collective_hang", job.watched(2min)).blame.ranks, ranks({3}));
}

// Rank 0 gathers for the first time after the third step. Does rank 1 miss it, or is it too early?
TEST(CollectiveHang, NamesBothOfTwoWhereOneBeginsWhatWasNeverDone) {
    const auto gathers = [](bool once_before, bool goes_on) {
        EvidenceBuilder job(2);
        job.start().world();
        std::int64_t seq = 0;
        for (std::int64_t step = 0; step < 4; ++step) {
            for (const Rank rank : job.everybody()) job.add(rank, StepBegin{step});
            if (step == 0 && once_before) job.collective(1, ++seq, job.everybody(), Op::all_gather);
            job.after(100ms).collective(1, ++seq, job.everybody());
            for (const Rank rank : job.everybody())
                if (step < 3 || (rank == 1 && goes_on)) job.add(rank, StepEnd{step, 1, 1});
        }
        if (goes_on) job.add(1, StepBegin{4});
        job.enters(0, 1, seq + 1, Op::all_gather).enters(1, 1, seq + 1);
        return found_by("collective_hang", job.watched(2min)).blame.ranks;
    };
    EXPECT_EQ(gathers(false, true), ranks({0, 1}));
    EXPECT_EQ(gathers(true, true), ranks({0}));
    EXPECT_EQ(gathers(false, false), ranks({0}));
}

// Four replicas train without a call, after a broadcast in set-up or a digest in which they agree.
Evidence replicas_that_part(bool broadcast, bool alike, bool groups_of_one, bool part = true) {
    EvidenceBuilder job(4);
    job.start().world();
    const TextId group = job.text("replica");
    if (broadcast) job.collective(1, 1, job.everybody(), Op::broadcast);
    for (const Rank rank : job.everybody()) {
        job.add(rank, ParametersDigest{-1, alike ? 1u : 1u + static_cast<std::uint64_t>(rank), group});
        if (groups_of_one) job.comm(3 + static_cast<CommId>(rank), "dp", {rank});
    }
    job.after(1ms);
    for (const Rank rank : job.everybody()) {
        job.add(rank, StepBegin{4});
        if (groups_of_one) job.collective(3 + static_cast<CommId>(rank), 1, {rank});
        job.add(rank, ParametersDigest{4, part ? 5u + static_cast<std::uint64_t>(rank) : 5u, group});
        job.add(rank, StepEnd{4, 1, 1});
    }
    return job.watched();
}

TEST(UnexpectedParallelization, LeavesOneJobWhoseReplicasPartForWantOfACall) {
    expect_silence_of("unexpected_parallelization", replicas_that_part(true, true, false));
    expect_silence_of("unexpected_parallelization", replicas_that_part(true, false, false));
    expect_silence_of("unexpected_parallelization", replicas_that_part(false, true, false));
    EXPECT_EQ(found_by("replica_divergence", replicas_that_part(true, true, false)).blame.step, 4);
    for (const Evidence& apart :
         {replicas_that_part(false, false, false), replicas_that_part(true, true, true),
          replicas_that_part(true, true, false, false)}) {
        const Finding found = found_by("unexpected_parallelization", apart);
        EXPECT_EQ(found.blame.ranks, ranks({0, 1, 2, 3}));
        EXPECT_EQ(found.blame.step, 4);
    }
}

// In step 1 rank 0 waits for a message of rank 1, which waits with all others in the world's call.
Finding waits_for_a_message(int sent_before, int sent_now, bool sender_waits_for_one) {
    EvidenceBuilder job(4);
    job.start().world();
    std::int64_t seq = 0;
    const auto message = [&](bool sent) {
        ++seq;
        job.add(0, P2pEnter{.comm = 1, .seq = seq, .peer = 1, .op = Op::recv});
        if (!sent) return;
        job.add(1, P2pEnter{.comm = 1, .seq = seq, .peer = 0, .op = Op::send}).after(1ms);
        job.add(1, P2pLeave{.comm = 1, .seq = seq, .peer = 0, .op = Op::send});
        job.add(0, P2pLeave{.comm = 1, .seq = seq, .peer = 1, .op = Op::recv});
    };
    for (const Rank rank : job.everybody()) job.add(rank, StepBegin{0});
    for (int i = 0; i < sent_before; ++i) message(true);
    job.collective(1, 1, job.everybody());
    for (const Rank rank : job.everybody()) job.add(rank, StepEnd{0, 1, 1});
    for (const Rank rank : job.everybody()) job.add(rank, StepBegin{1});
    for (int i = 0; i < sent_now; ++i) message(true);
    message(false);
    for (const Rank rank : {1, 2, 3})
        if (rank != 1 || !sender_waits_for_one) job.enters(rank, 1, 2);
    if (sender_waits_for_one) job.add(1, P2pEnter{.comm = 1, .seq = 9, .peer = 2, .op = Op::recv});
    return found_by("collective_hang", job.watched(2min));
}

TEST(CollectiveHang, BlamesTheSenderThatHasGoneOnWithoutSending) {
    const Finding found = waits_for_a_message(2, 1, false);
    EXPECT_EQ(found.blame.ranks, ranks({1}));
    EXPECT_THAT(found.says, testing::HasSubstr("rank 0 waits to receive from rank 1, which has gone on "
                                               "without sending, to all_reduce (operation 2 of world)"));
    EXPECT_EQ(waits_for_a_message(2, 2, false).blame.ranks, ranks({0}));  // it takes one too many
    // Nothing says that rank 1 was to send before this call: most have come to it, and rank 0 has not.
    EXPECT_EQ(waits_for_a_message(0, 0, false).blame.ranks, ranks({0}));
    // Rank 1 has not gone on: it waits for a message itself.
    EXPECT_THAT(waits_for_a_message(2, 1, true).says, testing::Not(testing::HasSubstr("without sending")));
}

// Rank 0 waits for a message of rank 1, and that one for rank 2, which stands in a barrier with rank 3.
TEST(CollectiveHang, NamesThoseWhoWaitInMessagesForOnesInABarrier) {
    EvidenceBuilder job(4);
    job.start().world();
    for (const Rank rank : job.everybody()) job.add(rank, StepBegin{0});
    for (const Rank rank : {0, 1})
        job.add(rank, P2pEnter{.comm = 1, .seq = 3 + 2 * rank, .peer = rank + 1, .op = Op::recv});
    for (const Rank rank : {2, 3}) job.enters(rank, 1, 1, Op::barrier);
    const Finding found = found_by("collective_hang", job.watched(2min));
    EXPECT_EQ(found.blame.ranks, ranks({0, 1}));
    EXPECT_EQ(found.causes.front(), "rank_divergent_control_flow");
    EXPECT_THAT(
        found.says,
        testing::HasSubstr("never entered barrier (operation 1 of world), and rank 0 waits in recv "
                           "(message 3 of world) for rank 1, which waits in recv (message 5 of world) for "
                           "rank 2, which waits in barrier (operation 1 of world) for rank 0"));
}

// Who makes another call has made them in another order, or has left one out.
TEST(CollectiveHang, DoubtsTheCauseOfAnotherCall) {
    EvidenceBuilder job = three_steps(4);
    for (const Rank rank : job.everybody())
        job.enters(rank, 1, 4, rank == 2 ? Op::all_gather : Op::all_reduce);
    EXPECT_THAT(found_by("collective_hang", job.watched(2min)).causes,
                testing::ElementsAre("communication_order_divergence", "rank_divergent_control_flow"));
}

// One rank of three may draw the same twice by chance; it does not do so three times, nor do most.
TEST(SampleCoverage, TakesOneRepeatedDrawOfFewRanksForChance) {
    const auto draws = [](const std::vector<std::vector<std::string>>& epochs) {
        EvidenceBuilder job(3);
        job.start();
        for (std::size_t epoch = 0; epoch < epochs.size(); ++epoch)
            for (const Rank rank : job.everybody()) {
                const auto number = static_cast<std::int64_t>(epoch);
                const std::string& read = epochs[epoch][static_cast<std::size_t>(rank)];
                job.add(rank, DataBatch{number, number, 0, 2, 1, job.text(read)});
            }
        return asked("sample_coverage", job.watched());
    };
    EXPECT_TRUE(draws({{"0,1", "2,3", "4,5"}, {"0,1", "5,2", "3,4"}, {"4,2", "0,1", "3,5"}}).empty());
    const auto stuck = draws({{"0,1", "2,3", "4,5"}, {"0,1", "5,2", "3,4"}, {"0,1", "4,3", "2,5"}});
    ASSERT_EQ(stuck.size(), 1u);
    EXPECT_EQ(stuck.front().blame.ranks, ranks({0}));
    EXPECT_EQ(stuck.front().blame.step, 2);
    const auto most = draws({{"0,1", "2,3", "4,5"}, {"0,1", "2,3", "5,4"}});
    ASSERT_EQ(most.size(), 1u);
    EXPECT_EQ(most.front().blame.ranks, ranks({0, 1}));
}

}  // namespace
}  // namespace deadrank::tests
