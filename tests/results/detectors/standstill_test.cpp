// tests/results/detectors/standstill_test.cpp — Goal: what counts as standing still, and whom the others wait
// for: who raised an error, who never ends, who only repeats itself; and not who sent what was taken.
#include "tests/results/detectors/run_detector.h"

namespace deadrank::tests {
namespace {

// Rank 0 has posted a receive from rank 1, which waits to receive from it; rank 0 says `error` meanwhile.
Finding circle_with(const std::string& error) {
    EvidenceBuilder job = three_steps(4);
    job.add(0, P2pEnter{.comm = 1, .seq = 1, .peer = 1, .op = Op::recv}).after(20ms);
    if (!error.empty()) job.log(0, error);
    job.add(1, P2pEnter{.comm = 1, .seq = 1, .peer = 0, .op = Op::recv});
    for (const Rank rank : {2, 3}) job.enters(rank, 1, 4);
    return found_by("collective_hang", job.watched(2min));
}

TEST(Standstill, IsTheFaultOfTheRankThatRaisedAnError) {
    EXPECT_EQ(circle_with("").blame.ranks, ranks({0, 1}));
    const Finding found = circle_with("RuntimeError: no sample left");
    EXPECT_EQ(found.blame.ranks, ranks({0}));
    EXPECT_EQ(found.causes.front(), "unpropagated_rank_failure");
    EXPECT_THAT(found.says, testing::HasSubstr("rank 0 had raised an error"));
    EXPECT_THAT(found.says, testing::HasSubstr("no sample left"));
    // What a call says of its peers is no error of the program.
    EXPECT_EQ(circle_with("RuntimeError: Connection closed by peer [10.0.0.2]:40").blame.ranks,
              ranks({0, 1}));
}

TEST(Standstill, TellsTheErrorOfARankThatNeverCame) {
    EvidenceBuilder job = three_steps(4);
    job.log(1, "ValueError: nothing to train");
    for (const Rank rank : {0, 2, 3}) job.enters(rank, 1, 4);
    const Finding found = found_by("collective_hang", job.watched(2min));
    EXPECT_EQ(found.blame.ranks, ranks({1}));
    EXPECT_EQ(found.causes.front(), "unpropagated_rank_failure");
    EXPECT_THAT(found.says, testing::HasSubstr("nothing to train"));
}

// Rank 1 makes another call than its peers. The launcher kills all of them after ten minutes of silence.
TEST(Standstill, IsNotedAlthoughTheCulpritIsKilledInTheEnd) {
    EvidenceBuilder job = three_steps(4);
    for (const Rank rank : job.everybody())
        job.enters(rank, 1, 4, rank == 1 ? Op::broadcast : Op::all_reduce);
    job.after(10min);
    for (const Rank rank : job.everybody()) job.exits(rank, -15, 15);
    EXPECT_EQ(found_by("collective_hang", job.watched()).blame.ranks, ranks({1}));
}

// Ranks 2 and 3 never come to rank 0's call with them, and rank 1 waits for rank 0 elsewhere.
TEST(Standstill, IsToldWithThoseWhoWaitBehindIt) {
    EvidenceBuilder job = three_steps(4);
    job.comm(2, "pair", {0, 1}).comm(3, "transfer", {0, 2, 3});
    job.enters(0, 3, 1, Op::broadcast).enters(1, 2, 1, Op::all_gather);
    const Finding found = found_by("collective_hang", job.watched(2min));
    EXPECT_EQ(found.blame.ranks, ranks({2, 3}));
    EXPECT_THAT(found.says, testing::HasSubstr(
                                "never entered broadcast (operation 1 of transfer); rank 0 waits there, and "
                                "for it rank 1 in all_gather (operation 1 of pair)"));
}

// All have made their steps; ranks below `left` have not ended.
EvidenceBuilder ends_without(Rank left) {
    EvidenceBuilder job(4);
    job.start().world().step(0).step(1).step(2);
    for (const Rank rank : job.everybody())
        if (rank >= left) job.exits(rank, 0);
    return job;
}

TEST(Standstill, IsTheFaultOfARankThatNeverEnds) {
    const Finding found = found_by("collective_hang", ends_without(1).watched(11min));
    EXPECT_EQ(found.symptom, "collective_deadlock_hang");
    EXPECT_EQ(found.blame.ranks, ranks({0}));
    EXPECT_EQ(found_by("collective_hang", ends_without(2).watched(11min)).blame.ranks, ranks({0, 1}));
    expect_silence_of("collective_hang", ends_without(1).watched(9min));
    expect_silence_of("collective_hang", ends_without(3).watched(11min));  // most go on
    expect_silence_of("collective_hang", ends_without(1).add(no_rank, JobStop{}).watched(11min));
}

TEST(Standstill, IsNoneOfARankThatSavesAloneOrHasSomethingToSay) {
    EvidenceBuilder saving(4);
    saving.start().world().step(0).step(1);
    saving.add(0, PhaseBegin{1, Phase::checkpoint});
    for (const Rank rank : {1, 2, 3}) saving.exits(rank, 0);
    expect_silence_of("collective_hang", saving.watched(15min));
    EvidenceBuilder copying = ends_without(1);
    for (int part = 1; part < 6; ++part) copying.after(40s).log(0, fmt::format("copied {}/6", part), 0);
    expect_silence_of("collective_hang", copying.watched(9min));
}

// Ranks 1-3 wait for rank 0, which says `line` every ten seconds.
Evidence says(const char* line, bool numbered) {
    EvidenceBuilder job = three_steps(4);
    for (const Rank rank : {1, 2, 3}) job.enters(rank, 1, 4);
    for (int i = 1; i <= 20; ++i)
        job.after(10s).log(0, numbered ? fmt::format("{} {} s", line, 10 * i) : std::string(line), 0);
    return job.watched(10s);
}

TEST(Standstill, IsNotPutOffByALineThatRepeatsItself) {
    EXPECT_LT(found_by("collective_hang", says("still waiting for worker 0", false)).at, 2min);
    EXPECT_LT(found_by("collective_hang", says("12:41:07 still waiting, so far", true)).at, 2min);
    EvidenceBuilder job = three_steps(4);
    for (const Rank rank : {1, 2, 3}) job.enters(rank, 1, 4);
    for (int i = 1; i <= 20; ++i) job.after(10s).log(0, fmt::format("evaluated {} batches", i), 0);
    expect_silence_of("collective_hang", job.watched(10s));
}

// Rank 0 has sent to rank 1 without asking for the end, and goes on; rank 1 takes the message, or does not.
Evidence sent(bool taken) {
    EvidenceBuilder job = three_steps(2);
    job.add(0, P2pEnter{.comm = 1, .seq = 1, .peer = 1, .op = Op::send});
    if (taken) {
        job.add(1, P2pEnter{.comm = 1, .seq = 1, .peer = 0, .op = Op::recv});
        job.add(1, P2pLeave{.comm = 1, .seq = 1, .peer = 0, .op = Op::recv});
    }
    return job.watched(2min);
}

TEST(Standstill, IsNoneOfASenderWhoseMessageWasTaken) {
    EXPECT_EQ(found_by("collective_hang", sent(false)).blame.ranks, ranks({1}));
    expect_silence_of("collective_hang", sent(true));
}

// A pipeline of two stages that gathers in step 1. Rank 1 leaves the gather out, and waits for the first
// message of step 2, which rank 0 would send behind it.
TEST(Standstill, IsTheFaultOfWhoLeftACallOutAndWaitsForAMessageInALaterStep) {
    EvidenceBuilder job(2);
    job.start().world();
    std::int64_t message = 0;
    const auto hands_on = [&] {
        ++message;
        job.add(0, P2pEnter{.comm = 1, .seq = message, .peer = 1, .op = Op::send});
        job.add(1, P2pEnter{.comm = 1, .seq = message, .peer = 0, .op = Op::recv}).after(1ms);
        job.add(0, P2pLeave{.comm = 1, .seq = message, .peer = 1, .op = Op::send});
        job.add(1, P2pLeave{.comm = 1, .seq = message, .peer = 0, .op = Op::recv});
    };
    for (const std::int64_t step : {0, 1}) {
        for (const Rank rank : {0, 1}) job.add(rank, StepBegin{step});
        hands_on();
        if (step == 0)
            for (const Rank rank : {0, 1}) job.add(rank, StepEnd{step, 1.0, 1.0});
    }
    job.enters(0, 1, 1, Op::all_gather);
    job.add(1, StepEnd{1, 1.0, 1.0}).add(1, StepBegin{2});
    job.add(1, P2pEnter{.comm = 1, .seq = ++message, .peer = 0, .op = Op::recv});
    const Finding found = found_by("collective_hang", job.watched(2min));
    EXPECT_EQ(found.blame.ranks, ranks({1}));
    EXPECT_EQ(found.causes.front(), "rank_divergent_control_flow");
}

}  // namespace
}  // namespace deadrank::tests
