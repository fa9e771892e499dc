// tests/results/detectors/mismatch_test.cpp — Goal: of calls that do not fit the odd one is named, from the
// calls themselves or from what a checker printed of them; a call that somebody left out is a hang.
#include <algorithm>
#include <fmt/format.h>

#include "tests/results/detectors/run_detector.h"

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

// Words of the libraries of kernels and of compilers, as they are printed; and some that are about something
// else.
TEST(TensorShape, KnowsTheWordsOfLibrariesOfKernels) {
    const auto symptom = [](const std::string& said) {
        EvidenceBuilder job = three_steps(2);
        job.log(1, "Traceback (most recent call last):\n" + said).exits(1, 1);
        const Evidence evidence = job.watched();
        const auto shape = asked("tensor_shape", evidence), other = asked("runtime_exception", evidence);
        EXPECT_EQ(shape.size() + other.size(), 1u) << said;
        return shape.empty() ? "other" : shape.front().symptom;
    };
    for (const char* said :
         {"ValueError: Input tensor (shape=(8, 1536)) and weight tensor (shape=(6144,)) are not compatible",
          "RuntimeError: gemm.cu:333 in function CanonicalizeGemmInput: Assertion failed: GEMM inputs have "
          "incompatible dimensions (A is 4x8, B is 16x4)",
          "RuntimeError: query and key must have the same dtype",
          "RuntimeError: cu_seqlens_q must have shape (batch_size + 1)",
          "RuntimeError: FlashAttention only support fp16 and bf16 data type",
          "RuntimeError: Number of heads in key/value must divide number of heads in query",
          "ValueError: Query/Key/Value should all have the same dtype",
          "RuntimeError: expected input and cos tensor have the same sequence length",
          "TypeError: add got incompatible shapes for broadcasting: (3,), (4,).",
          "TypeError: lax.mul requires arguments to have the same dtypes, got bfloat16, float32.",
          "TypeError: Cannot concatenate arrays with shapes that differ in dimensions other than the one "
          "being "
          "concatenated",
          "TypeError: cannot reshape array of shape (4, 64) (size 256) into shape (64,) (size 64)",
          "ValueError: One of pjit arguments was given the sharding of P('data'), which implies that the "
          "global "
          "size of its dimension 0 should be divisible by 4, but it is equal to 1",
          "jaxlib.XlaRuntimeError: INVALID_ARGUMENT: Executable expected parameter 0 of size 4096 but got "
          "buffer "
          "with incompatible size 3840",
          "AssertionError: Both operands must be same dtype. Got fp32 and fp16",
          "ValueError: Cannot make_shape_compatible: incompatible dimensions at index 1: 256 and 512"})
        EXPECT_EQ(symptom(said), "tensor_shape_or_dtype_error") << said;
    for (const char* said : {"RuntimeError: FlashAttention only supports Ampere GPUs or newer.",
                             "ValueError: cannot reshape array of size 8 into shape (4,1,8)",
                             "ValueError: releases 2.1 and 2.3 are not compatible",
                             "ValueError: tensor parallel size must divide the number of heads"})
        EXPECT_EQ(symptom(said), "other") << said;
}

}  // namespace
}  // namespace deadrank::tests
