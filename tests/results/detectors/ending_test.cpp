// tests/results/detectors/ending_test.cpp — Goal: how a job ended tells who is at fault. A part that calls on
// all ranks while its own groups lie idle waits for those who are right to be gone; a job that signals ended
// is told; an end that all ranks agreed on is none that came too early.
#include <functional>

#include "tests/results/detectors/run_detector.h"

namespace deadrank::tests {
namespace {

// Ranks 0-3 call in a group of their own and leave. Ranks 4-7 have groups as well, and call on the world.
EvidenceBuilder calls_on_the_world(bool own_groups, bool world_is_used) {
    EvidenceBuilder job(8);
    job.start().world().comm(2, "actors", {0, 1, 2, 3});
    if (own_groups) job.comm(3, "sub0", {4, 5}).comm(4, "sub1", {6, 7});
    for (std::int64_t step = 0; step < 3; ++step) {
        for (const Rank rank : {0, 1, 2, 3}) job.add(rank, StepBegin{step});
        if (world_is_used && step == 0) job.add(4, StepBegin{0}).collective(1, 1, job.everybody());
        job.collective(2, step + 1, {0, 1, 2, 3});
        for (const Rank rank : {0, 1, 2, 3}) job.add(rank, StepEnd{step, 1.0, 1.0});
    }
    for (const Rank rank : {4, 5, 6, 7}) job.add(rank, StepBegin{0}).enters(rank, 1, world_is_used ? 2 : 1);
    for (const Rank rank : {0, 1, 2, 3}) job.exits(rank, 0);
    return job;
}

TEST(CallOnTheWorld, IsTheCallersFaultWhereTheirOwnGroupsAreUnused) {
    const Finding found = found_by("collective_hang", calls_on_the_world(true, false).watched(5min));
    EXPECT_EQ(found.blame.ranks, ranks({4, 5, 6, 7}));
    EXPECT_EQ(found.causes.front(), "group_construction_error");
    EXPECT_NE(found.says.find("sub0, sub1"), std::string::npos) << found.says;
}

TEST(CallOnTheWorld, IsMissedByThoseWhoCallThereOtherwise) {
    EXPECT_EQ(found_by("collective_hang", calls_on_the_world(true, true).watched(5min)).blame.ranks,
              ranks({0, 1, 2, 3}));
    EXPECT_EQ(found_by("collective_hang", calls_on_the_world(false, false).watched(5min)).blame.ranks,
              ranks({0, 1, 2, 3}));
}

// Goal: who waits elsewhere is not counted among those that it keeps waiting.
TEST(HangWords, CountTheCulpritAmongNoVictims) {
    EvidenceBuilder job = three_steps(4);
    job.comm(2, "pair", {2, 3});
    for (const Rank rank : {0, 1, 2}) job.enters(rank, 1, 4);
    job.enters(3, 2, 1, Op::broadcast, 1, Dtype::f32, 0);
    const Finding found = found_by("collective_hang", job.watched(5min));
    EXPECT_EQ(found.blame.ranks, ranks({3}));
    EXPECT_NE(found.says.find("ranks 0-2 waited"), std::string::npos) << found.says;
    EXPECT_EQ(found.causes.front(), "rank_divergent_control_flow");
}

EvidenceBuilder ended_by(int code, int signal, Rank last_code) {
    EvidenceBuilder job = three_steps(4);
    job.exits(1, code, signal).exits(3, code, signal).after(200ms).exits(0, last_code).exits(2, last_code);
    job.log(no_rank, "failed (exitcode: -15) local_rank: 1 (pid: 1001) of binary: /usr/bin/python3");
    job.add(no_rank, JobStop{.code = 1, .reason = job.text("rank 1 failed")});
    return job;
}

TEST(EndedBySignals, NamesThoseWhoWereEndedFirst) {
    const Finding found = found_by("restart_failure", ended_by(-15, 15, 143).watched());
    EXPECT_EQ(found.symptom, "restart_or_recovery_failure");
    EXPECT_EQ(found.blame.ranks, ranks({1, 3}));
    EXPECT_NE(found.says.find("SIGTERM"), std::string::npos) << found.says;
    EXPECT_NE(found_by("restart_failure", ended_by(-1, 1, 129).watched()).says.find("SIGHUP"),
              std::string::npos);
    expect_silence_of("restart_failure", ended_by(-15, 15, 1).watched());
    // Who ended the others may have ended well.
    EXPECT_EQ(found_by("restart_failure", ended_by(-15, 15, 0).watched()).blame.ranks, ranks({1, 3}));
}

TEST(EndedBySignals, TellsThatAllWereKilledAtOnceUnlessThereWasTroubleBefore) {
    const auto killed = [](const std::string& complaint, Time waited) {
        EvidenceBuilder job = three_steps(4);
        if (!complaint.empty()) job.log(2, complaint);
        if (waited > 0s) job.enters(0, 1, 4).after(waited);
        for (const Rank rank : job.everybody()) job.exits(rank, -9, 9);
        job.add(no_rank, JobStop{.code = 1, .reason = job.text("rank 0 failed")});
        return job.watched();
    };
    EXPECT_NE(found_by("restart_failure", killed("", 0s)).says.find("SIGKILL"), std::string::npos);
    expect_silence_of("restart_failure", killed("ValueError: no such key", 0s));
    expect_silence_of("restart_failure", killed("", 10min));
}

// Ranks 1 and 3 end with an error code, and the others are ended for it.
Evidence ended_with(int code, const std::string& line, const std::function<void(EvidenceBuilder&)>& before) {
    EvidenceBuilder job = three_steps(4);
    before(job);
    if (!line.empty()) job.log(1, line);
    job.exits(1, code).exits(3, code).after(2s).exits(0, 143).exits(2, -15, 15);
    job.add(no_rank, JobStop{.code = 1, .reason = job.text("rank 1 failed")});
    return job.watched();
}

Findings told_of_end(
    int code, const std::string& line = "",
    const std::function<void(EvidenceBuilder&)>& before = [](EvidenceBuilder&) {}) {
    return results::detect(ended_with(code, line, before), results::all_detectors());
}

TEST(EndWithoutAWord, IsToldOfThoseWhoEndedFirst) {
    const Findings silent = told_of_end(3);
    ASSERT_EQ(silent.size(), 1u);
    EXPECT_EQ(silent[0].symptom, "framework_runtime_exception");
    EXPECT_EQ(silent[0].blame.ranks, ranks({1, 3}));
    EXPECT_EQ(silent[0].blame.step, 3);
    EXPECT_THAT(silent[0].says, testing::HasSubstr("ended with code 3"));
    const Findings exits = told_of_end(2, "SystemExit: 2");
    ASSERT_EQ(exits.size(), 1u);
    EXPECT_THAT(exits[0].says, testing::HasSubstr("SystemExit: 2"));
}

TEST(EndWithoutAWord, IsNotToldBesideWhatExplainsIt) {
    for (const Finding& finding : told_of_end(143)) EXPECT_NE(finding.detector, "runtime_exception");
    const Findings complained = told_of_end(1, "torch.OutOfMemoryError: CUDA out of memory.");
    ASSERT_EQ(complained.size(), 1u);
    EXPECT_EQ(complained[0].symptom, "device_out_of_memory");
    const Findings wrong = told_of_end(1, "", [](EvidenceBuilder& job) {
        job.add(1, ValueSample{3, job.text("check.norm"), 2.0, 1.0});
    });
    ASSERT_EQ(wrong.size(), 1u);
    EXPECT_EQ(wrong[0].symptom, "wrong_intermediate_value");
}

// Ranks 1-3 take nothing for a step on from the fourth one, and rank 0 waits for them there.
TEST(HangStep, IsTheOneInWhichMostOfTheRanksLeftTheirCalls) {
    EvidenceBuilder job = three_steps(4);
    job.enters(0, 1, 4).after(10ms);
    for (std::int64_t step = 3; step < 8; ++step)
        for (const Rank rank : {1, 2, 3}) {
            if (step > 3) job.add(rank, StepBegin{step});
            job.add(rank, StepEnd{step, 1.0, 1.0});
        }
    for (const Rank rank : {1, 2, 3}) job.exits(rank, 0);
    const Finding found = found_by("collective_hang", job.watched(5min));
    EXPECT_EQ(found.blame.ranks, ranks({1, 2, 3}));
    EXPECT_EQ(found.blame.step, 3);
}

enum class Agreed { in_the_step, by_a_flag_before, by_a_save_before, by_nothing, uneven };

Evidence stops_early(Agreed how) {
    EvidenceBuilder job(4);
    job.start().world().comm(2, "train", {1, 3});
    for (const Rank rank : job.everybody()) job.add(rank, RankConfig{job.text("steps"), job.text("40")});
    // Ranks 0 and 2 watch the others, and make steps of their own.
    for (std::int64_t step = 0; step < 8; ++step) {
        for (const Rank rank : job.everybody()) job.add(rank, StepBegin{step});
        job.after(100ms).collective(2, step + 1, {1, 3});
        if (step == 7 && how == Agreed::by_a_flag_before)
            for (const Rank rank : {1, 3}) job.enters(rank, 2, 9, Op::broadcast, 1).leaves(rank, 2, 9);
        if (step == 7 && how == Agreed::by_a_save_before)
            job.add(1, CheckpointSave{.step = step, .path = job.text("ckpt/7")});
        for (const Rank rank : job.everybody()) job.add(rank, StepEnd{step, 1.0, 1.0});
    }
    for (const Rank rank : {1, 3}) job.add(rank, StepBegin{8});
    if (how == Agreed::uneven) job.add(3, StepEnd{8, 1.0, 1.0}).add(3, StepBegin{9});
    if (how == Agreed::in_the_step) job.collective(2, 9, {1, 3});
    job.exits(1, 0).exits(3, 0).after(300ms).all_exit();
    return job.watched();
}

TEST(EarlyEnd, IsNoneWhereThoseWhoTrainAgreed) {
    for (const Agreed how : {Agreed::in_the_step, Agreed::by_a_flag_before, Agreed::by_a_save_before})
        expect_silence_of("sample_coverage", stops_early(how));
    for (const Agreed how : {Agreed::by_nothing, Agreed::uneven})
        EXPECT_EQ(found_by("sample_coverage", stops_early(how)).symptom, "wrong_sample_coverage");
}

}  // namespace
}  // namespace deadrank::tests
