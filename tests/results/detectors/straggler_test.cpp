// tests/results/detectors/straggler_test.cpp — Goal: a rank that is far behind in steps of a few milliseconds
// is named, and what a scheduler or a noisy machine does to any process is not; nor is a rank that works for
// all, or a job whose steps differ.
#include <cmath>

#include "tests/results/detectors/run_detector.h"

namespace deadrank::tests {
namespace {

// Two ranks with steps of a millisecond, one of them four times as slow; each tells how long it had no
// processor.
TEST(Straggler, SeesARankThatIsLateByLessThanATimeSliceWhileNoRankLosesItsProcessor) {
    const auto short_steps = [](Time slower, std::int64_t late_steps, double starved, bool told = true) {
        EvidenceBuilder job(2);
        job.start().world();
        for (std::int64_t step = 0; step < 12; ++step) {
            for (const Rank rank : {0, 1}) job.add(rank, StepBegin{step});
            job.after(1ms).enters(0, 1, step + 1);
            job.after(step >= 3 && step < 3 + late_steps ? slower : Time(0)).enters(1, 1, step + 1);
            job.after(100us);
            for (const Rank rank : {0, 1}) {
                job.leaves(rank, 1, step + 1);
                if (told) job.add(rank, ValueSample{step, job.text("processor_wait"), starved, std::nan("")});
                job.add(rank, StepEnd{step, 1, 1});
            }
        }
        return job.watched();
    };
    const Finding found = found_by("straggler", short_steps(3ms, 9, 0));
    EXPECT_EQ(found.blame.ranks, ranks({1}));
    EXPECT_EQ(found.blame.step, 3);
    expect_silence_of("straggler", short_steps(3ms, 5, 0));         // one step less than it takes
    expect_silence_of("straggler", short_steps(3ms, 9, 0.001));     // a third of it may be that wait
    expect_silence_of("straggler", short_steps(3ms, 9, 0, false));  // not told
    expect_silence_of("straggler", short_steps(900us, 9, 0));       // not a millisecond
    EXPECT_EQ(found_by("straggler", short_steps(1200us, 9, 0)).blame.ranks, ranks({1}));
}

// How the steps of four ranks go in which rank 0 gathers, works and hands out what came of it.
struct ForAll {
    Time asks = 200ms;          // rank 0, between the gather and its broadcast
    Time others = 0ms;          // the others, in that time
    Rank root = 0;              // of the broadcast
    Time later = 0ms;           // rank 0 from step 10 on, besides
    std::int64_t pauses = -1;   // the step in which it takes 15 s more
    Phase loads = Phase::none;  // it works in a phase of its own, which ends before the broadcast
};

Evidence work_for_all(const ForAll& how) {
    EvidenceBuilder job(4);
    job.start().world();
    std::int64_t seq = 0;
    const auto call = [&](Op op, std::int32_t root) {
        ++seq;
        for (const Rank rank : {1, 2, 3, 0}) job.enters(rank, 1, seq, op, 16, Dtype::f32, root);
        job.after(100us);
        for (const Rank rank : job.everybody()) job.leaves(rank, 1, seq, op);
    };
    for (std::int64_t step = 0; step < 20; ++step) {
        for (const Rank rank : job.everybody()) job.add(rank, StepBegin{step});
        call(Op::all_gather, -1);
        if (how.loads != Phase::none) job.add(0, results::PhaseBegin{step, how.loads});
        job.after(how.others);
        ++seq;
        for (const Rank rank : {1, 2, 3}) job.enters(rank, 1, seq, Op::broadcast, 16, Dtype::f32, how.root);
        job.after(how.asks - how.others + (step >= 10 ? how.later : 0ms) + (step == how.pauses ? 15s : 0s));
        if (how.loads != Phase::none) job.add(0, results::PhaseEnd{step, how.loads});
        job.enters(0, 1, seq, Op::broadcast, 16, Dtype::f32, how.root);
        for (const Rank rank : job.everybody()) job.leaves(rank, 1, seq, Op::broadcast);
        job.after(40ms);
        call(Op::all_reduce, -1);
        for (const Rank rank : job.everybody()) job.add(rank, StepEnd{step, 1, 1});
    }
    return job.watched();
}

TEST(Straggler, TakesWorkForAllForNoRanksOwn) {
    expect_silence_of("straggler", work_for_all({}));
    expect_silence_of("low_throughput", work_for_all({}));
    // Somebody else hands out, or the others do the same work: then rank 0 is late.
    EXPECT_EQ(found_by("straggler", work_for_all({.root = 1})).blame.ranks, ranks({0}));
    EXPECT_EQ(found_by("straggler", work_for_all({.others = 100ms})).blame.ranks, ranks({0}));
    // So is one that loads its data slowly before it hands out something else.
    EXPECT_EQ(found_by("straggler", work_for_all({.loads = Phase::data})).blame.ranks, ranks({0}));
}

TEST(Straggler, CountsMoreWorkForAllAsTheWorkOfTheStep) {
    expect_silence_of("straggler", work_for_all({.later = 100ms}));
    EXPECT_EQ(found_by("low_throughput", work_for_all({.later = 100ms})).blame.step, 10);
    const Finding stop = found_by("straggler", work_for_all({.pauses = 12}));
    EXPECT_EQ(stop.blame.ranks, ranks({0}));
    EXPECT_EQ(stop.blame.step, 12);
}

// Two groups of two, whose roots both load what they hand out; the root of the second one takes longer.
TEST(Straggler, ComparesTheWorkForAllOfSeveralGroups) {
    const auto groups = [](Time slower) {
        EvidenceBuilder job(8);
        job.start().world();
        const std::vector<std::vector<Rank>> members = {{0, 1}, {2, 3}, {4, 5}, {6, 7}};
        for (CommId id = 0; id < 4; ++id) job.comm(2 + id, "tp", members[id]);
        for (std::int64_t step = 0; step < 12; ++step) {
            for (const Rank rank : job.everybody()) job.add(rank, StepBegin{step});
            for (const Rank rank : {0, 2, 4, 6}) job.add(rank, results::PhaseBegin{step, Phase::data});
            const auto hand_out = [&](Rank root) {
                job.enters(root, 2 + static_cast<CommId>(root / 2), step + 1, Op::broadcast, 16, Dtype::f32,
                           0);
            };
            for (const Rank rank : {1, 3, 5, 7})
                job.enters(rank, 2 + static_cast<CommId>(rank / 2), step + 1, Op::broadcast, 16, Dtype::f32,
                           0);
            job.after(60ms);
            for (const Rank root : {0, 2, 4}) hand_out(root);
            job.after(slower);
            hand_out(6);
            for (const Rank rank : job.everybody())
                job.leaves(rank, 2 + static_cast<CommId>(rank / 2), step + 1, Op::broadcast);
            for (const Rank rank : {0, 2, 4, 6}) job.add(rank, results::PhaseEnd{step, Phase::data});
            job.after(40ms).collective(1, step + 1, job.everybody());
            for (const Rank rank : job.everybody()) job.add(rank, StepEnd{step, 1, 1});
        }
        return job.watched();
    };
    expect_silence_of("straggler", groups(0ms));
    EXPECT_EQ(found_by("straggler", groups(30ms)).blame.ranks, ranks({6}));
}

// Rank 0 sends to rank 1 and is told of it when rank 1 has it, or later, when it asks.
Evidence sender(Time under_way, Time asks_after, bool does_something_else = false) {
    EvidenceBuilder job(2);
    job.start().world();
    for (std::int64_t step = 0; step < 12; ++step) {
        for (const Rank rank : {0, 1}) job.add(rank, StepBegin{step});
        job.after(30ms);
        job.add(0, results::P2pEnter{1, step + 1, 600, 1, 0, Op::send, Dtype::f32});
        job.add(1, results::P2pEnter{1, step + 1, 600, 0, 0, Op::recv, Dtype::f32});
        if (does_something_else) job.add(0, results::PhaseBegin{step, Phase::backward});
        job.after(under_way).add(1, results::P2pLeave{1, step + 1, 0, Op::recv, Code::ok});
        job.add(1, StepEnd{step, 1, 1});
        job.after(asks_after).add(0, results::P2pLeave{1, step + 1, 1, Op::send, Code::ok});
        job.add(0, StepEnd{step, 1, 1});
    }
    return job.watched();
}

TEST(Straggler, CountsTheTimeInASendAsWaiting) {
    expect_silence_of("straggler", sender(20ms, 0ms));
    EXPECT_EQ(found_by("straggler", sender(20ms, 0ms, true)).blame.ranks, ranks({0}));
    EXPECT_EQ(found_by("straggler", sender(5ms, 20ms)).blame.ranks, ranks({0}));
}

// Both ranks work 30 ms. Rank 0 sends then. Rank 1 leaves their call 50 ms later than rank 0, so that rank 0 waits 50 ms
// for its receiver. It may say so.
Evidence early_sender(bool says, Time slower = 0ms) {
    EvidenceBuilder job(2);
    job.start().world();
    for (std::int64_t step = 0; step < 12; ++step) {
        for (const Rank rank : {0, 1}) job.add(rank, StepBegin{step}).enters(rank, 1, step + 1);
        job.leaves(0, 1, step + 1);
        job.after(30ms).add(0, results::P2pEnter{1, step + 1, 600, 1, 0, Op::send, Dtype::f32});
        job.after(20ms).leaves(1, 1, step + 1);
        job.after(30ms + slower);
        job.add(1, results::P2pEnter{1, step + 1, 600, 0, 0, Op::recv, Dtype::f32}).after(1ms);
        if (says) {
            const double waited = std::chrono::duration<double>(51ms + slower).count();
            job.add(0, ValueSample{-1, job.text("message_wait"), waited, std::nan("")});
        }
        job.add(0, results::P2pLeave{1, step + 1, 1, Op::send, Code::ok});
        job.add(1, results::P2pLeave{1, step + 1, 0, Op::recv, Code::ok});
        for (const Rank rank : {0, 1}) job.add(rank, StepEnd{step, 1, 1});
    }
    return job.watched();
}

TEST(Straggler, BelievesARankThatSaysHowLongItWaitedForItsReceiver) {
    EXPECT_EQ(found_by("straggler", early_sender(false)).blame.ranks, ranks({0}));
    expect_silence_of("straggler", early_sender(true));
    EXPECT_EQ(found_by("straggler", early_sender(true, 60ms)).blame.ranks, ranks({1}));
}

// Rank 0 posts a receive, goes on, and waits for it in its next phase, until rank 1 has worked and sent.
// Whether it worked meanwhile, nothing tells.
Evidence receiver(bool goes_on, Time later = 0ms) {
    EvidenceBuilder job(2);
    job.start().world();
    for (std::int64_t step = 0; step < 16; ++step) {
        for (const Rank rank : {0, 1}) job.add(rank, StepBegin{step});
        job.add(0, results::P2pEnter{1, step + 1, 600, 1, 0, Op::recv, Dtype::f32});
        if (goes_on) job.add(0, results::PhaseBegin{step, Phase::backward});
        job.after(80ms + (step >= 8 ? later : 0ms));
        job.add(1, results::P2pEnter{1, step + 1, 600, 0, 0, Op::send, Dtype::f32}).after(1ms);
        job.add(1, results::P2pLeave{1, step + 1, 0, Op::send, Code::ok});
        job.add(0, results::P2pLeave{1, step + 1, 1, Op::recv, Code::ok}).after(20ms);
        for (const Rank rank : {0, 1}) job.add(rank, StepEnd{step, 1, 1});
    }
    return job.watched();
}

TEST(Straggler, DoesNotTakeTheTimeBesideAReceiveForWaiting) {
    EXPECT_EQ(found_by("straggler", receiver(false)).blame.ranks, ranks({1}));
    expect_silence_of("straggler", receiver(true));
    const Finding later = found_by("straggler", receiver(true, 80ms));
    EXPECT_EQ(later.blame.ranks, ranks({1}));
    EXPECT_EQ(later.blame.step, 8);
}

// Rank 1 begins its step 6 so much later than it ended step 5; the others wait for it in a call.
Evidence late_beginner(Time late, bool saves) {
    EvidenceBuilder job(3);
    job.start().world();
    for (std::int64_t step = 0; step < 10; ++step) {
        for (const Rank rank : {0, 2}) job.add(rank, StepBegin{step});
        job.after(20ms);
        for (const Rank rank : {0, 2}) job.enters(rank, 1, step + 1);
        if (step == 6 && saves) job.add(1, results::PhaseBegin{step, Phase::checkpoint});
        job.after(step == 6 ? late : 0ms);
        if (step == 6 && saves) job.add(1, results::PhaseEnd{step, Phase::checkpoint});
        job.add(1, StepBegin{step}).after(20ms).enters(1, 1, step + 1).after(1ms);
        for (const Rank rank : job.everybody()) job.leaves(rank, 1, step + 1).add(rank, StepEnd{step, 1, 1});
    }
    return job.watched();
}

TEST(Straggler, SeesARankThatStandsStillBetweenTwoSteps) {
    const Finding stop = found_by("straggler", late_beginner(15s, false));
    EXPECT_EQ(stop.blame.ranks, ranks({1}));
    EXPECT_EQ(stop.blame.step, 6);
    expect_silence_of("straggler", late_beginner(5s, false));
    expect_silence_of("straggler", late_beginner(15s, true));
}

// Four replicas read two samples each. From step 6 on `left` are left, of whom rank 1 reads and works more.
Evidence smaller(std::vector<Rank> left, std::int32_t reads, Time works) {
    EvidenceBuilder job(4);
    job.start().world().comm(2, "quorum1", left);
    for (std::int64_t step = 0; step < 16; ++step) {
        const bool late = step >= 6;
        const std::vector<Rank> here = late ? left : job.everybody();
        for (const Rank rank : here)
            job.add(rank, StepBegin{step})
                .add(rank, results::DataBatch{step, 0, 0, late && rank == 1 ? reads : 2, 1, TextId::none});
        job.after(100ms);
        for (const Rank rank : here)
            if (rank != 1) job.enters(rank, late ? 2 : 1, step + 1);
        job.after(late ? works - 100ms : 0ms).enters(1, late ? 2 : 1, step + 1);
        for (const Rank rank : here) job.leaves(rank, late ? 2 : 1, step + 1).add(rank, StepEnd{step, 1, 1});
    }
    return job.watched();
}

TEST(Straggler, LeavesARankAloneThatTakesTheShareOfALostOne) {
    expect_silence_of("straggler", smaller({0, 1, 2}, 4, 200ms));
    EXPECT_EQ(found_by("straggler", smaller({0, 1, 2}, 4, 260ms)).blame.ranks, ranks({1}));
    EXPECT_EQ(found_by("straggler", smaller({0, 1, 2}, 6, 300ms)).blame.ranks, ranks({1}));  // three shares
    EXPECT_EQ(found_by("straggler", smaller({0, 1, 2, 3}, 4, 200ms)).blame.ranks, ranks({1}));
}

// Four ranks whose rank 0 alone does something in each step: before a barrier, or before the step's end.
struct Alone {
    bool barrier = true;
    std::int64_t from = 0;    // the first step with it
    Time others = 0ms;        // what the others do at that place
    std::int64_t grows = -1;  // the step from which on it takes 60 ms more
};

Evidence chores(const Alone& how) {
    EvidenceBuilder job(4);
    job.start().world();
    std::int64_t seq = 0;
    for (std::int64_t step = 0; step < 20; ++step) {
        for (const Rank rank : job.everybody()) job.add(rank, StepBegin{step});
        job.after(40ms).collective(1, ++seq, job.everybody());
        const Time alone =
            (step >= how.from ? 50ms : 0ms) + (how.grows >= 0 && step >= how.grows ? 60ms : 0ms);
        job.after(how.others);
        ++seq;
        for (const Rank rank : {1, 2, 3})
            if (how.barrier)
                job.enters(rank, 1, seq, Op::barrier);
            else
                job.add(rank, StepEnd{step, 1, 1});
        job.after(alone);
        if (!how.barrier) {
            job.add(0, StepEnd{step, 1, 1});
            continue;
        }
        job.enters(0, 1, seq, Op::barrier);
        for (const Rank rank : job.everybody()) job.leaves(rank, 1, seq, Op::barrier);
        for (const Rank rank : job.everybody()) job.add(rank, StepEnd{step, 1, 1});
    }
    return job.watched();
}

TEST(Straggler, TakesWhatOneRankDoesAloneFromTheFirstStepOnForAChore) {
    for (const bool barrier : {true, false}) {
        expect_silence_of("straggler", chores({.barrier = barrier}));
        // The others do the same, only faster; or it begins later; or it grows.
        const Finding slow = found_by("straggler", chores({.barrier = barrier, .others = 20ms}));
        EXPECT_EQ(slow.blame.ranks, ranks({0}));
        EXPECT_EQ(found_by("straggler", chores({.barrier = barrier, .from = 3})).blame.step, 3);
        EXPECT_EQ(found_by("straggler", chores({.barrier = barrier, .grows = 8})).blame.step, 8);
    }
}

// The work of a step is drawn anew each time, the same for all ranks, as with images of a drawn size.
Evidence drawn(const std::vector<Time>& sizes, std::int64_t slower_from, std::int64_t steps = 300) {
    EvidenceBuilder job(2);
    job.start().world();
    std::uint64_t state = 304;
    for (std::int64_t step = 0; step < steps; ++step) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        const Time work = sizes[static_cast<std::size_t>((state >> 33) % sizes.size())];
        for (const Rank rank : {0, 1})
            job.add(rank, StepBegin{step}).add(rank, results::PhaseBegin{step, Phase::forward});
        job.after(step >= slower_from ? work * 2 : work);
        for (const Rank rank : {0, 1}) job.add(rank, results::PhaseEnd{step, Phase::forward});
        job.collective(1, step + 1, {0, 1});
        for (const Rank rank : {0, 1}) job.add(rank, StepEnd{step, 1, 1});
    }
    return job.watched();
}

TEST(LowThroughput, IsSilentOnStepsThatVary) {
    for (const auto& sizes : {std::vector<Time>{30ms, 47ms, 67500us, 76800us, 76800us},
                              std::vector<Time>{30ms, 60ms, 90ms, 130ms, 170ms, 220ms},
                              std::vector<Time>{100ms, 100ms, 100ms, 140ms}}) {
        expect_silence_of("low_throughput", drawn(sizes, 1000));
        const Finding found = found_by("low_throughput", drawn(sizes, 200));
        EXPECT_GE(found.blame.step, 200);
    }
}

}  // namespace
}  // namespace deadrank::tests
