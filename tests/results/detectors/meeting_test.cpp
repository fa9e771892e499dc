// tests/results/detectors/meeting_test.cpp — Goal: what goes wrong before ranks have met, or keeps some from
// ever training, is told by its own name.
#include "tests/results/detectors/run_detector.h"

namespace deadrank::tests {
namespace {

TEST(SetupFailure, TellsOfARankThatNoWorldHasWhereItMadeSetUpFail) {
    for (const Code result : {Code::timeout, Code::ok}) {
        EvidenceBuilder job(4);
        for (const Rank rank : job.everybody()) {
            const bool odd = rank == 1 || rank == 3;
            job.start(rank, odd ? "RANK=11" : job.environment(rank));
            job.add(rank, RendezvousEnter{odd ? 11 : rank, 4, job.text("node0:29500")});
        }
        job.after(300s);
        for (const Rank rank : {1, 3}) {
            job.add(rank, RendezvousLeave{0, result});
            if (result != Code::ok) job.log(rank, "DistNetworkError: The client socket has timed out");
        }
        const Evidence evidence = job.watched();
        if (result == Code::ok) {
            EXPECT_EQ(found_by("rank_order", evidence).blame.ranks, ranks({1, 3}));
            continue;
        }
        expect_silence_of("rank_order", evidence);
        const Finding found = found_by("setup_failure", evidence);
        EXPECT_EQ(found.blame.ranks, ranks({1, 3}));
        EXPECT_EQ(found.blame.variable, "RANK");
    }
}

TEST(SetupFailure, KnowsWhatIsSaidOfMeetingBeforeTheRendezvous) {
    const auto said = [](const std::string& words, bool met) {
        EvidenceBuilder job(4);
        job.start();
        for (const Rank rank : {0, 2, 3}) job.add(rank, RendezvousEnter{rank, 4, job.text("node0:29500")});
        if (met) job.rendezvous(1, 1, 4);
        job.after(1s).log(1, "Traceback (most recent call last):\n" + words).exits(1, 1);
        return job.watched();
    };
    for (const std::string words : {"RuntimeError: open(/shared/a): No such file or directory",
                                    "KeyError: 'MASTER_ADDR'", "OSError: [Errno 98] Address already in use",
                                    "RuntimeError: the store of new_store_test is empty"}) {
        EXPECT_EQ(found_by("setup_failure", said(words, false)).blame.ranks, ranks({1})) << words;
        expect_silence_of("setup_failure", said(words, true));
    }
    for (const std::string words :
         {"ImportError: cannot import name 'a'", "ValueError: unsupported format", "KeyError: 'lr'"})
        expect_silence_of("setup_failure", said(words, false));
}

TEST(UnexpectedParallelization, SeesWhoLeftBeforeTheFirstStepOfTheOthers) {
    const auto leaving = [](int code, bool before) {
        EvidenceBuilder job(4);
        job.start().world();
        if (before) job.after(1s).exits(2, code).exits(3, code);
        for (const Rank rank : {0, 1}) job.add(rank, StepBegin{0});
        job.after(1s);
        for (const Rank rank : {0, 1}) job.add(rank, StepEnd{0, 1.0, 1.0});
        if (!before) job.after(1s).exits(2, code).exits(3, code);
        return job.after(1s).exits(0, 0).exits(1, 0).watched();
    };
    EXPECT_EQ(found_by("unexpected_parallelization", leaving(0, true)).blame.ranks, ranks({2, 3}));
    expect_silence_of("unexpected_parallelization", leaving(1, true));
    expect_silence_of("unexpected_parallelization", leaving(0, false));
}

}  // namespace
}  // namespace deadrank::tests
