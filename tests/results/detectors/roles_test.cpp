// tests/results/detectors/roles_test.cpp — Goal: ranks that do other work by design are not compared with
// each other, and those that do the same work are.
#include <cmath>
#include <functional>

#include "tests/results/detectors/run_detector.h"

namespace deadrank::tests {
namespace {

// Ranks 0 and 1 train, and receive what ranks 2 and 3 sample. Or all four are stages of two pipelines, whose
// replicas reduce alike.
Evidence two_kinds(bool generators, const std::function<Time(Rank)>& work,
                   const std::function<std::int64_t(Rank, std::int64_t)>& memory = {}) {
    EvidenceBuilder job(4);
    job.start().world().comm(2, "train", {0, 1}).comm(3, "generate", {2, 3});
    for (std::int64_t step = 0; step < 60; ++step) {
        for (const Rank rank : job.everybody()) job.add(rank, StepBegin{step});
        for (const Rank rank : job.everybody()) {
            if (memory) job.add(rank, MemorySample{memory(rank, step), 80'000, 0, 500'000});
        }
        std::vector<Rank> order = job.everybody();
        std::sort(order.begin(), order.end(), [&](Rank a, Rank b) { return work(a) < work(b); });
        Time now{0};
        for (const Rank rank : order) {
            job.after(work(rank) - now);
            now = work(rank);
            job.enters(rank, rank < 2 ? 2 : 3, step + 1,
                       rank < 2 || !generators ? Op::all_reduce : Op::broadcast, 1024, Dtype::f32,
                       rank < 2 || !generators ? -1 : 0);
        }
        for (const Rank rank : job.everybody()) job.leaves(rank, rank < 2 ? 2 : 3, step + 1);
        for (const Rank rank : {2, 3})
            job.add(rank, P2pEnter{1, step, 64, rank - 2, 0, Op::send, Dtype::f32});
        for (const Rank rank : {0, 1})
            job.add(rank, P2pEnter{1, step, 64, rank + 2, 0, Op::recv, Dtype::f32});
        for (const Rank rank : {0, 1}) job.add(rank, P2pLeave{1, step, rank + 2, Op::recv, Code::ok});
        for (const Rank rank : {2, 3}) job.add(rank, P2pLeave{1, step, rank - 2, Op::send, Code::ok});
        for (const Rank rank : job.everybody()) job.add(rank, StepEnd{step, 1, 1});
    }
    return job.watched();
}

TEST(Roles, OtherWorkByDesignIsNoStraggler) {
    const auto works = [](Rank late) {
        return [=](Rank rank) { return (rank < 2 ? 300ms : 100ms) + (rank == late ? 200ms : 0ms); };
    };
    expect_silence_of("straggler", two_kinds(true, works(no_rank)));
    EXPECT_EQ(found_by("straggler", two_kinds(true, works(1))).blame.ranks, ranks({1}));
    EXPECT_EQ(found_by("straggler", two_kinds(true, works(3))).blame.ranks, ranks({3}));
    // Stages that call alike are one kind.
    EXPECT_EQ(found_by("straggler", two_kinds(false, works(no_rank))).blame.ranks, ranks({0, 1}));
}

TEST(Roles, OtherWorkByDesignNeedsOtherMemory) {
    const auto holds = [](Rank leaks) {
        return [=](Rank rank, std::int64_t) {
            return (rank < 2 ? 60'000 : 20'000) + (rank == leaks ? 40'000 : 0);
        };
    };
    const auto work = [](Rank) { return 100ms; };
    expect_silence_of("unbalanced_memory", two_kinds(true, work, holds(no_rank)));
    EXPECT_EQ(found_by("unbalanced_memory", two_kinds(true, work, holds(3))).blame.ranks, ranks({3}));
}

// A little more stays after every twelfth step, on one rank or on all.
TEST(UnbalancedMemory, SeesWhatStaysOnOneRankThoughBatchesDiffer) {
    const auto holds = [](Rank most) {
        return [=](Rank rank, std::int64_t step) {
            const std::int64_t batch = (rank * 37 + step * 61 + rank * step * 13) % 97 * 50;
            return 50'000 + batch + (rank <= most ? step / 12 * 3'000 : 0);
        };
    };
    const auto work = [](Rank) { return 100ms; };
    EXPECT_EQ(found_by("unbalanced_memory", two_kinds(false, work, holds(0))).blame.ranks, ranks({0}));
    expect_silence_of("unbalanced_memory", two_kinds(false, work, holds(no_rank)));
    expect_silence_of("unbalanced_memory", two_kinds(false, work, holds(3)));
}

std::string told_of_digests(const std::vector<std::uint64_t>& digests) {
    EvidenceBuilder job(4, 2);
    job.start().world().step(0);
    for (const Rank rank : job.everybody()) {
        job.add(rank, ParametersDigest{0, digests[static_cast<std::size_t>(rank)], job.text("replica"),
                                       job.text("weights")});
    }
    return found_by("replica_divergence", job.watched()).says;
}

TEST(Parties, AreToldWithWhatTheyHaveInCommon) {
    using testing::HasSubstr;
    EXPECT_THAT(told_of_digests({1, 2, 3, 4}), HasSubstr("no two of ranks 0-3 are alike"));
    EXPECT_THAT(told_of_digests({7, 7, 9, 9}), HasSubstr("ranks 0,1 agree, and ranks 2,3: one party a node"));
    EXPECT_THAT(told_of_digests({7, 9, 7, 9}),
                HasSubstr("ranks 0,2 agree, and ranks 1,3: one party for each place on the nodes"));
    EXPECT_THAT(told_of_digests({7, 9, 9, 7}), HasSubstr("ranks 0,3 agree, and ranks 1,2"));
}

TEST(Samples, DealtOutByThePlaceOnTheNodeAreWrongBeyondTheFirst) {
    const auto read = [](const std::vector<std::int64_t>& first) {
        EvidenceBuilder job(4, 2);
        job.start().world();
        for (const Rank rank : job.everybody())
            job.add(rank, DataBatch{0, 0, first[static_cast<std::size_t>(rank)], 1});
        return found_by("sample_coverage", job.watched()).blame.ranks;
    };
    EXPECT_EQ(read({5, 6, 5, 6}), ranks({2, 3}));
    EXPECT_EQ(read({5, 5, 6, 6}), ranks({0, 1, 2, 3}));
    EXPECT_EQ(read({5, 6, 5, 7}), ranks({0, 2}));  // one pair may be chance
}

TEST(ValueWrong, TellsWhatPeersHeldAlikeAndNoLongerDo) {
    const auto logged = [](const std::string& name, const std::function<double(Rank, std::int64_t)>& value) {
        EvidenceBuilder job(4);
        job.start().world();
        for (std::int64_t step = 0; step < 8; ++step) {
            for (const Rank rank : job.everybody())
                job.add(rank, ValueSample{step, job.text(name), value(rank, step), std::nan("")});
            job.step(step);
        }
        return job.watched();
    };
    const auto parts_in = [](std::int64_t first) {
        return [=](Rank rank, std::int64_t step) {
            return 1.0 / static_cast<double>(step + 1) + (rank == 2 && step >= first ? 0.5 : 0.0);
        };
    };
    const Finding found = found_by("value_wrong", logged("norm", parts_in(5)));
    EXPECT_EQ(found.blame.ranks, ranks({2}));
    EXPECT_EQ(found.blame.step, 5);
    EXPECT_EQ(found.blame.variable, "norm");
    expect_silence_of("value_wrong", logged("norm", parts_in(0)));       // each may have its own
    expect_silence_of("value_wrong", logged("step_time", parts_in(5)));  // as it has by its name
    expect_silence_of("value_wrong", logged("norm", [](Rank rank, std::int64_t step) {
                          return rank == 2 && step >= 5 ? 1.0 : 0.0;  // what never moved tells nothing
                      }));
}

}  // namespace
}  // namespace deadrank::tests
