// tests/results/detectors/planned_test.cpp — Goal: what a healthy program does on purpose is no alarm, though
// it looks like trouble: stops that recur, lengths that differ, jobs side by side, more work, errors that it
// catches, an end that all agree on. Each beside the trouble that it looks like, which is told.
#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <utility>
#include <vector>

#include "tests/results/detectors/run_detector.h"

namespace deadrank::tests {
namespace {

using Work = std::function<Time(Rank rank, std::int64_t step)>;

struct Steps {
    Rank ranks = 4;
    std::int64_t count = 16;
    Work work;
    std::int64_t per_epoch = 0;  // steps; 0: no samples are told
    std::function<double(std::int64_t step)> tokens = {};
    bool as_setting = false;  // tokens are told as a setting, and only where they change
    bool phases = false;
};

// Each rank works and then calls. A collective ends when the last member has come, and the steps with it.
class Job {
public:
    explicit Job(const Steps& how, Rank per_node = 4) : how_(how), job_(how.ranks, per_node) {
        job_.start().world();
    }
    EvidenceBuilder& builder() { return job_; }
    EvidenceBuilder& played() {
        for (std::int64_t step = 0; step < how_.count; ++step) play(step);
        return job_;
    }

    // The rank logs these words in that step, or in the last one.
    Job& told(Rank rank, std::int64_t step, std::string words) {
        teller_ = rank, told_in_ = std::min(step, how_.count - 1), words_ = std::move(words);
        return *this;
    }

private:
    void begin(std::int64_t step) {
        for (const Rank rank : job_.everybody()) {
            job_.add(rank, StepBegin{step});
            if (rank == teller_ && step == told_in_) job_.log(rank, words_, 1);
            if (how_.phases) job_.add(rank, results::PhaseBegin{step, Phase::forward});
            const bool same = step > 0 && how_.tokens && how_.tokens(step) == how_.tokens(step - 1);
            if (how_.tokens && how_.as_setting && !same)
                job_.add(rank, RankConfig{job_.text("sequence_length"),
                                          job_.text(fmt::format("{:.0f}", how_.tokens(step)))});
            if (how_.tokens && !how_.as_setting)
                job_.add(rank,
                         ValueSample{step, job_.text("sequence_length"), how_.tokens(step), std::nan("")});
            if (how_.per_epoch > 0)
                job_.add(rank, DataBatch{step, step / how_.per_epoch,
                                         (step % how_.per_epoch) * how_.ranks + rank, 1});
        }
    }
    void play(std::int64_t step) {
        begin(step);
        std::vector<std::pair<Time, Rank>> order;
        for (const Rank rank : job_.everybody()) order.push_back({how_.work(rank, step), rank});
        std::sort(order.begin(), order.end());
        Time now{0};
        for (const auto& [when, rank] : order) {
            job_.after(when - now);
            now = when;
            if (how_.phases) job_.add(rank, results::PhaseEnd{step, Phase::forward});
            job_.enters(rank, 1, step + 1);
        }
        job_.after(1ms);
        for (const Rank rank : job_.everybody())
            job_.leaves(rank, 1, step + 1).add(rank, StepEnd{step, 1, 1});
    }

    Steps how_;
    EvidenceBuilder job_;
    Rank teller_ = no_rank;
    std::int64_t told_in_ = -1;
    std::string words_;
};

Evidence job_of(const Steps& how, Rank per_node = 4) { return Job(how, per_node).played().watched(); }

TEST(DetectorPlanned, StopsOfOneRankThatRecurAreTheProgramsDesign) {
    const auto stops_in = [](std::vector<std::int64_t> steps, Time longer = 0s) {
        return job_of({.work = [=](Rank rank, std::int64_t step) {
            const bool stops = rank == 0 && std::count(steps.begin(), steps.end(), step) > 0;
            return 200ms + (stops ? 30s + (step == steps.back() ? longer : 0s) : 0s);
        }});
    };
    expect_silence_of("straggler", stops_in({4, 9, 14}));
    EXPECT_EQ(found_by("straggler", stops_in({4})).blame.step, 4);
    EXPECT_EQ(found_by("straggler", stops_in({4, 7, 14})).blame.step, 4);       // not at one distance
    EXPECT_EQ(found_by("straggler", stops_in({4, 9, 14}, 60s)).blame.step, 4);  // one takes far longer
    EXPECT_EQ(found_by("straggler", stops_in({4, 5, 6})).blame.step, 4);  // in steps that follow each other
}

TEST(DetectorPlanned, StopsAtEachEpochsBeginAreTheProgramsDesign) {
    const auto epochs = [](std::int64_t odd) {
        return job_of({.count = 20,
                       .work =
                           [=](Rank rank, std::int64_t step) {
                               return 200ms + (rank == 2 && step % 6 == odd && step > 0 ? 20s : 0s);
                           },
                       .per_epoch = 6});
    };
    expect_silence_of("straggler", epochs(0));
    EXPECT_EQ(found_by("straggler", epochs(3)).blame.ranks, ranks({2}));
}

TEST(DetectorPlanned, OneRankOfEachNodeMayWorkForItsNode) {
    const auto compiling = [](std::set<Rank> who) {
        return job_of({.ranks = 8, .work = [=](Rank rank, std::int64_t step) {
                           return 500ms + (step == 3 && who.contains(rank) ? 15s : 0s);
                       }});
    };
    expect_silence_of("straggler", compiling({0, 4}));
    EXPECT_EQ(found_by("straggler", compiling({0})).blame.step, 3);
    EXPECT_EQ(found_by("straggler", compiling({0, 5})).blame.step, 3);
}

// Goal: a window of a profiler and the trace that it writes are no trouble, unless it never stops.
TEST(DetectorPlanned, AProfilersWindowThatARankTellsOfSlowsItDown) {
    const auto profiled = [](std::int64_t until, Time one_stop, const std::string& words) {
        Job job({.count = 40, .work = [=](Rank rank, std::int64_t step) {
                     const bool slow = rank == 0 && step >= 10 && step < until;
                     return 200ms + (slow ? 200ms : 0ms) + (rank == 0 && step == until ? one_stop : 0s);
                 }});
        return job.told(0, until, words).played().watched();
    };
    expect_silence_of("straggler", profiled(15, 0s, "profiler: trace of steps 10-14 written to trace.json"));
    expect_silence_of("straggler", profiled(10, 30s, "exported chrome trace to trace.json"));
    EXPECT_EQ(found_by("straggler", profiled(15, 0s, "loss 2.1")).blame.ranks, ranks({0}));
    EXPECT_EQ(found_by("straggler", profiled(10, 30s, "loss 2.1")).blame.ranks, ranks({0}));
    EXPECT_EQ(found_by("straggler", profiled(40, 0s, "profiler: started")).blame.ranks, ranks({0}));
}

TEST(DetectorPlanned, LengthsThatDifferOnAllRanksAreNoTurns) {
    const auto lengths = [](Time all, Time one) {
        return job_of({.ranks = 8, .count = 40, .work = [=](Rank rank, std::int64_t step) {
                           const std::int64_t drawn = (rank * 37 + step * 61 + rank * step * 13) % 97;
                           const bool turn = rank == step % 8;
                           return 1s + all * drawn / 97 + (turn ? one : 0ms);
                       }});
    };
    expect_silence_of("straggler", lengths(1s, 0ms));
    EXPECT_EQ(found_by("straggler", lengths(20ms, 600ms)).symptom, "straggler_step_time_skew");
}

TEST(DetectorPlanned, EpochsFirstStepIsSetApartFromStalls) {
    const auto stalls = [](std::int64_t odd) {
        return job_of(
            {.count = 36,
             .work = [=](Rank, std::int64_t step) { return step % 6 == odd && step > 0 ? 6s : 400ms; },
             .per_epoch = 6,
             .phases = true});
    };
    expect_silence_of("low_throughput", stalls(0));
    EXPECT_EQ(found_by("low_throughput", stalls(4)).symptom, "low_throughput_uniform");
}

TEST(DetectorPlanned, WhatAllRanksDoEverySoManyStepsIsNoStall) {
    const auto evaluated_in = [](std::vector<std::int64_t> steps, Time longer = 0s) {
        return job_of({.count = 44,
                       .work =
                           [=](Rank, std::int64_t step) {
                               const bool evaluates = std::count(steps.begin(), steps.end(), step) > 0;
                               return 400ms + (evaluates ? 2s + (step == steps.back() ? longer : 0s) : 0s);
                           },
                       .phases = true});
    };
    expect_silence_of("low_throughput", evaluated_in({9, 19, 29, 39}));
    expect_silence_of("low_throughput", evaluated_in({3, 7, 11, 15, 19, 23, 27, 31, 35, 39, 43}));
    EXPECT_EQ(found_by("low_throughput", evaluated_in({9, 19, 30})).blame.step, 30);      // irregular
    EXPECT_EQ(found_by("low_throughput", evaluated_in({27, 32, 37})).blame.step, 37);     // from late on
    EXPECT_EQ(found_by("low_throughput", evaluated_in({9, 19, 29}, 4s)).blame.step, 29);  // one is longer
}

TEST(DetectorPlanned, MoreWorkThatTheProgramTellsIsNoSlowdown) {
    const auto longer = [](bool told, bool as_setting) {
        return job_of({.count = 20,
                       .work = [](Rank, std::int64_t step) { return step < 8 ? 300ms : 600ms; },
                       .tokens = [=](std::int64_t step) { return told && step >= 8 ? 1024.0 : 512.0; },
                       .as_setting = as_setting});
    };
    for (const bool as_setting : {false, true}) {
        expect_silence_of("low_throughput", longer(true, as_setting));
        EXPECT_EQ(found_by("low_throughput", longer(false, as_setting)).blame.step, 8);
    }
}

// Two pairs with a group each; the second pair's model is twice as large. Rank 3 may be late besides.
Evidence two_trials(Time late) {
    EvidenceBuilder job(4);
    job.start().world().comm(2, "trial", {0, 1}).comm(3, "trial", {2, 3});
    for (const Rank rank : job.everybody()) job.add(rank, StepBegin{0});
    const auto ends_step = [&](Rank first, std::int64_t step, Time second_is_late) {
        const CommId comm = first == 0 ? 2 : 3;
        job.enters(first, comm, step + 1).after(second_is_late).enters(first + 1, comm, step + 1);
        for (const Rank rank : {first, first + 1})
            job.leaves(rank, comm, step + 1).add(rank, StepEnd{step, 1, 1}).add(rank, StepBegin{step + 1});
    };
    for (std::int64_t tick = 0; tick < 32; ++tick) {
        job.after(400ms);
        ends_step(0, tick, 0ms);
        if (tick % 2 == 1) ends_step(2, tick / 2, late);
        if (tick == 31)  // they meet when they are done
            for (const Rank rank : job.everybody()) job.enters(rank, 1, 1, Op::all_gather);
    }
    return job.watched();
}

TEST(DetectorPlanned, JobsSideBySideHavePacesOfTheirOwn) {
    expect_silence_of("straggler", two_trials(0ms));
    EXPECT_EQ(found_by("straggler", two_trials(200ms)).blame.ranks, ranks({3}));
}

// Rank 3 serves the others without a call, and takes as long as it takes.
TEST(DetectorPlanned, ARankThatNobodyMeetsDelaysNobody) {
    const auto serving = [](bool joins) {
        EvidenceBuilder job(4);
        job.start().world().comm(2, "trainers", {0, 1, 2});
        for (std::int64_t step = 0; step < 8; ++step) {
            for (const Rank rank : job.everybody()) job.add(rank, StepBegin{step});
            job.after(100ms);
            const auto trainers_end = [&] {
                for (const Rank rank : {0, 1, 2}) job.add(rank, StepEnd{step, 1, 1});
            };
            if (joins) {
                for (const Rank rank : {0, 1, 2}) job.enters(rank, 1, step + 1);
                job.after(20s).enters(3, 1, step + 1);
                for (const Rank rank : job.everybody()) job.leaves(rank, 1, step + 1);
                trainers_end();
            } else {
                job.collective(2, step + 1, {0, 1, 2});
                trainers_end();
                job.after(20s);
            }
            job.add(3, StepEnd{step, 1, 1});
        }
        return job.watched();
    };
    expect_silence_of("straggler", serving(false));
    EXPECT_EQ(found_by("straggler", serving(true)).blame.ranks, ranks({3}));
}

TEST(DetectorPlanned, ReplicasNeedNotMeetBeforeTheySaySo) {
    const auto averaging = [](std::int64_t every, std::int64_t says_after) {
        EvidenceBuilder job(2);
        job.start().world();
        for (std::int64_t step = 0; step < 8; ++step) {
            for (const Rank rank : job.everybody()) job.add(rank, StepBegin{step});
            job.after(100ms);
            if (step % every == every - 1) job.collective(1, step / every + 1, job.everybody());
            for (const Rank rank : job.everybody()) {
                if (step % says_after == says_after - 1)
                    job.add(rank, ParametersDigest{step, 7, job.text("replica"), job.text("weights")});
                job.add(rank, StepEnd{step, 1, 1});
            }
        }
        return job.watched();
    };
    expect_silence_of("unexpected_parallelization", averaging(4, 4));
    EXPECT_EQ(found_by("unexpected_parallelization", averaging(100, 4)).blame.ranks, ranks({0, 1}));
    EXPECT_EQ(found_by("unexpected_parallelization", averaging(4, 1)).blame.ranks, ranks({0, 1}));
}

TEST(DetectorPlanned, AnErrorThatTheProgramOutlivesIsNoAlarm) {
    const auto allocating = [](bool goes_on) {
        EvidenceBuilder job(2);
        job.start().world().step(0);
        job.add(1, MemoryOom{1'000, 10, job.text("device")});
        if (goes_on) job.step(1).all_exit();
        return job.watched(30min);
    };
    expect_silence_of("device_memory", allocating(true));
    EXPECT_EQ(found_by("device_memory", allocating(false)).blame.ranks, ranks({1}));

    enum class Others { alike, had_saved, found_theirs };
    const auto starting = [](Others others, bool goes_on = true) {
        EvidenceBuilder job(2);
        job.start().world();
        if (others == Others::had_saved)
            job.add(0, CheckpointSave{0, 100, 5, 0, 1, job.text("other.pt"), Code::ok});
        for (const Rank rank : job.everybody()) {
            const bool found = others == Others::found_theirs && rank == 0;
            job.add(rank, CheckpointLoad{found ? 3 : -1, 100, 5, 0, 1, job.text("last.pt"),
                                         found ? Code::ok : Code::not_found});
        }
        if (goes_on) job.step(0).step(1);
        return job.watched();
    };
    expect_silence_of("checkpoint_integrity", starting(Others::alike));
    EXPECT_EQ(found_by("checkpoint_integrity", starting(Others::alike, false)).blame.ranks, ranks({0, 1}));
    EXPECT_EQ(found_by("checkpoint_integrity", starting(Others::had_saved)).blame.ranks, ranks({0, 1}));
    EXPECT_EQ(found_by("checkpoint_integrity", starting(Others::found_theirs)).blame.ranks, ranks({1}));
}

TEST(DetectorPlanned, AnErrorThatWasCaughtIsToldFromOneThatEndsTheRank) {
    const auto failing = [](bool calls, int code) {
        EvidenceBuilder job(2);
        job.start().world().step(0);
        job.add(1, MemoryOom{1'000, 10, job.text("device")});
        if (calls) job.enters(1, 1, 7);
        if (code != 0) job.after(1s).exits(1, code);
        return job.watched(30min);
    };
    EXPECT_TRUE(found_by("device_memory", failing(true, 0)).outlived);
    EXPECT_FALSE(found_by("device_memory", failing(false, 0)).outlived);
    EXPECT_FALSE(found_by("device_memory", failing(true, 1)).outlived);
}

TEST(DetectorPlanned, AnEndThatAllAgreeOnIsNoEarlyEnd) {
    enum class End { agreed, between_steps, alone };
    const auto ending = [](End end) {
        EvidenceBuilder job(4);
        job.start().world();
        for (const Rank rank : job.everybody()) job.add(rank, RankConfig{job.text("steps"), job.text("40")});
        for (std::int64_t step = 0; step < 11; ++step) job.step(step);
        if (end != End::between_steps)
            for (const Rank rank : job.everybody()) job.add(rank, StepBegin{11});
        if (end == End::agreed) job.collective(1, job.seq() + 1, job.everybody(), Op::barrier);
        job.all_exit();
        return job.watched();
    };
    expect_silence_of("sample_coverage", ending(End::agreed));
    EXPECT_EQ(found_by("sample_coverage", ending(End::between_steps)).blame.step, 10);
    EXPECT_EQ(found_by("sample_coverage", ending(End::alone)).blame.step, 10);
}

// Four ranks, then two; what the first attempt had read before the resumed step is read again or not.
TEST(DetectorPlanned, SamplesReadTwiceAreToldWhateverTheNumberOfRanks) {
    const auto resumed = [](std::int64_t position) {
        EvidenceBuilder job(4);
        job.start().world();
        for (std::int64_t step = 0; step < 6; ++step)
            for (const Rank rank : job.everybody()) job.add(rank, DataBatch{step, 0, step * 4 + rank, 1});
        job.after(10s).add(no_rank, Restart{1, job.text("a node was lost")});
        for (const Rank rank : {0, 1}) job.start(rank, job.environment(rank));
        for (std::int64_t step = 4; step < 8; ++step) {
            for (const Rank rank : {0, 1})
                job.add(rank, DataBatch{step, 0, position + (step - 4) * 2 + rank, 1});
        }
        return job.watched();
    };
    expect_silence_of("sample_coverage", resumed(16));  // what steps 4 and 5 read was lost with them
    const Finding found = found_by("sample_coverage", resumed(0));
    EXPECT_EQ(found.blame.step, 4);
    EXPECT_EQ(found.blame.ranks, ranks({0, 1}));
}

// Each rank trains something by itself for ten quick steps, or all do so together; then steps are slow.
Evidence then_slow(bool alone) {
    EvidenceBuilder job(2);
    job.start().world();
    for (int number = 0; number < 10; ++number) {
        if (!alone) {
            job.step(number, 1.0, 1ms);
            continue;
        }
        for (const Rank rank : job.everybody()) job.add(rank, StepBegin{number});
        job.after(1ms);
        for (const Rank rank : job.everybody()) job.add(rank, StepEnd{number, 1.0, 1.0});
    }
    for (int number = 10; number < 30; ++number) job.step(number, 1.0, 30ms);
    return job.all_exit().watched();
}

TEST(DetectorPlanned, IsATrainingWithOthersAfterOneOfEachRankAlone) {
    expect_silence_of("low_throughput", then_slow(true));
    EXPECT_EQ(found_by("low_throughput", then_slow(false)).blame.step, 10);
}

}  // namespace
}  // namespace deadrank::tests
