// tests/results/detectors/mismatch_test.cpp — Goal: of calls that do not fit the odd one is named, from the
// calls themselves or from what a checker printed of them; a call that somebody left out is a hang.
#include <algorithm>
#include <fmt/format.h>

#include "tests/results/detectors/asked.h"

namespace deadrank::tests {
namespace {

struct Odd {
    std::string name;
    CollectiveEnter call;
};

class Mismatches : public testing::TestWithParam<Odd> {};

TEST_P(Mismatches, NameTheOddRank) {
    EvidenceBuilder job = three_steps(8);
    for (const Rank rank : job.everybody_but(5)) job.enters(rank, 1, 4);
    job.after(1ms).add(5, GetParam().call);
    for (const Rank rank : job.everybody()) job.leaves(rank, 1, 4);  // it ended, with whatever came out
    const Finding found = found_by("collective_mismatch", job.watched());
    EXPECT_EQ(found.blame.ranks, ranks({5}));
    EXPECT_EQ(found.blame.step, 3);
    EXPECT_EQ(found.blame.collective, "all_reduce");
    EXPECT_LT(found.at, 1s) << "it shows at once";
}

// Goal: without a checker's word two calls that never complete are what they look like, a hang.
TEST(CollectiveHang, NamesWhoCameToAnotherCallWhereNobodyEverLeaves) {
    EvidenceBuilder job = three_steps(8);
    for (const Rank rank : job.everybody_but(5)) job.enters(rank, 1, 4);
    job.after(1ms).add(5, CollectiveEnter{1, 4, 512, -1, Op::all_reduce, Dtype::f32, ReduceOp::sum});
    const Evidence evidence = job.watched(2min);
    EXPECT_TRUE(asked("collective_mismatch", evidence).empty());
    EXPECT_EQ(found_by("collective_hang", evidence).blame.ranks, ranks({5}));
}

INSTANTIATE_TEST_SUITE_P(
    Of, Mismatches,
    testing::Values(Odd{"operation", {1, 4, 1024, -1, Op::reduce_scatter, Dtype::f32, ReduceOp::sum}},
                    Odd{"count", {1, 4, 512, -1, Op::all_reduce, Dtype::f32, ReduceOp::sum}},
                    Odd{"type", {1, 4, 1024, -1, Op::all_reduce, Dtype::i32, ReduceOp::sum}},
                    Odd{"reduction", {1, 4, 1024, -1, Op::all_reduce, Dtype::f32, ReduceOp::max}},
                    Odd{"root", {1, 4, 1024, 3, Op::all_reduce, Dtype::f32, ReduceOp::sum}}),
    [](const auto& row) { return row.param.name; });

TEST(CollectiveMismatch, LeavesARankThatSkippedACallToTheHang) {
    EvidenceBuilder job(4);
    job.start().world();
    for (std::int64_t step = 0; step < 3; ++step) {
        for (const std::int64_t call : {1, 2, 3}) {
            for (const Rank rank : job.everybody()) {
                job.enters(rank, 1, step * 3 + call, Op::all_reduce, call * 100);
            }
            for (const Rank rank : job.everybody()) job.leaves(rank, 1, step * 3 + call);
        }
    }
    for (const Rank rank : job.everybody_but(2)) job.enters(rank, 1, 10, Op::all_reduce, 100);
    job.enters(2, 1, 10, Op::all_reduce, 200);  // its second call of the step, one too early
    const Evidence evidence = job.watched(2min);
    expect_silence_of("collective_mismatch", evidence);
    const Finding hang = found_by("collective_hang", evidence);
    EXPECT_EQ(hang.blame.ranks, ranks({2}));
    EXPECT_EQ(hang.causes.front(), "rank_divergent_control_flow");
}

TEST(CollectiveMismatch, BelievesTheChecker) {
    EvidenceBuilder job = three_steps(2);
    job.log(0,
            "RuntimeError: Detected mismatch between collectives on ranks. Rank 0 is running collective: "
            "CollectiveFingerPrint(SequenceNumber=3, OpType=ALLREDUCE), but Rank 1 is running collective: "
            "CollectiveFingerPrint(SequenceNumber=3, OpType=BROADCAST)");
    EXPECT_EQ(found_by("collective_mismatch", job.watched()).symptom, "collective_mismatch_error");
}

// As imported logs tell it, without a dump: each rank prints its own call and that of one who differs.
EvidenceBuilder with_fingerprints(const std::vector<std::string>& operations) {
    EvidenceBuilder job = three_steps(static_cast<int>(operations.size()));
    for (std::size_t rank = 0; rank < operations.size(); ++rank) {
        const auto other = std::find_if(operations.begin(), operations.end(),
                                        [&](const std::string& op) { return op != operations[rank]; });
        job.log(
            static_cast<Rank>(rank),
            fmt::format("RuntimeError: Detected mismatch between collectives on ranks. Rank {} is running "
                        "collective: CollectiveFingerPrint(SequenceNumber=3, OpType={}, TensorShape=[16], "
                        "TensorDtypes=Float), but Rank {} is running collective: "
                        "CollectiveFingerPrint(SequenceNumber=3, OpType={}, TensorShape=[16], "
                        "TensorDtypes=Float).",
                        rank, operations[rank], other - operations.begin(), *other));
    }
    return job;
}

TEST(CollectiveMismatch, HoldsTheCheckersWordsOfAllRanksAgainstEachOther) {
    EvidenceBuilder one = with_fingerprints({"ALLREDUCE", "ALLREDUCE", "BROADCAST", "ALLREDUCE"});
    const Finding found = found_by("collective_mismatch", one.watched());
    EXPECT_EQ(found.blame.ranks, ranks({2}));
    EXPECT_EQ(found.says,
              "rank 2 said SequenceNumber=3, OpType=BROADCAST, TensorShape=[16] where the others said "
              "SequenceNumber=3, OpType=ALLREDUCE, TensorShape=[16]");
    EvidenceBuilder halves = with_fingerprints({"ALLREDUCE", "BROADCAST", "BROADCAST", "ALLREDUCE"});
    EXPECT_EQ(found_by("collective_mismatch", halves.watched()).blame.ranks, ranks({0, 1, 2, 3}))
        << "two against two convict nobody";
}

}  // namespace
}  // namespace deadrank::tests
