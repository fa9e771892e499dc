// tests/results/detectors/peer_connection_test.cpp — Goal: of a broken connection the side that went is
// named, not whoever saw it go.
#include "tests/results/detectors/run_detector.h"

namespace deadrank::tests {
namespace {

constexpr const char* store_is_gone =
    "Traceback (most recent call last):\ntorch.distributed.DistNetworkError: Failed to recv, got 0 bytes. "
    "Connection was likely closed. Did the remote server shutdown or crash?";

// All have trained, and leave at once; the store goes with rank 0, which others have survived well.
TEST(PeerConnection, OfTheStoreBlamesItsHostAlone) {
    EvidenceBuilder job(4);
    job.start().world().step(0).step(1);
    job.exits(0, 0).after(10ms).exits(1, 0).exits(2, 0).log(3, store_is_gone).exits(3, 1);
    const Evidence evidence = job.watched();
    const Finding found = found_by("peer_connection", evidence);
    EXPECT_EQ(found.blame.ranks, ranks({0}));
    EXPECT_EQ(found.blame.component, "store");
    expect_silence_of("setup_failure", evidence);
}

TEST(PeerConnection, BlamesTheRankThatDiedFirst) {
    EvidenceBuilder job = three_steps(4);
    job.exits(2, -9, 9).after(10ms);
    for (const Rank rank : job.everybody_but(2)) {
        job.add(rank, CommError{1, Code::remote_error,
                                job.text("[pair.cc:547] Connection closed by peer [127.0.0.1]:1")});
    }
    EXPECT_EQ(found_by("peer_connection", job.watched()).blame.ranks, ranks({2}));
}

// A node's processes end within milliseconds of each other; whoever ends a second later has another reason.
TEST(PeerConnection, BlamesAllThatFellAtOneTime) {
    EvidenceBuilder job = three_steps(8);
    job.exits(1, -9, 9).after(3ms).exits(0, -9, 9).after(10ms);
    job.add(4, CommError{1, Code::remote_error,
                         job.text("[pair.cc:547] Connection closed by peer [127.0.0.1]:1")});
    job.after(1s).exits(2, -9, 9);
    EXPECT_EQ(found_by("peer_connection", job.watched()).blame.ranks, ranks({0, 1}));
}

// Whoever ends well is nobody's victim: all that left went by themselves, however long it took them.
TEST(PeerConnection, BlamesAllThatLeftWhileOneWaited) {
    for (const int code : {0, 1}) {
        EvidenceBuilder job = three_steps(4);
        job.exits(1, code, 0).after(10ms);
        job.add(0, CommError{1, Code::remote_error,
                             job.text("[pair.cc:547] Connection closed by peer [127.0.0.1]:1")});
        job.after(300ms).exits(3, code, 0).after(200ms).exits(2, code, 0).exits(0, 1, 0);
        EXPECT_EQ(found_by("peer_connection", job.watched()).blame.ranks,
                  code == 0 ? ranks({1, 2, 3}) : ranks({1}));
    }
}

// Nobody had ended: of three that wait for a fourth, one sees that another's time was up.
TEST(PeerConnection, IsSilentAboutTheEchoOfATimeout) {
    for (const bool timeouts : {true, false}) {
        EvidenceBuilder job = three_steps(4);
        job.add(0, CommError{1, Code::remote_error,
                             job.text("[pair.cc:547] Connection closed by peer [127.0.0.1]:1")});
        job.after(20ms);
        if (timeouts) {
            job.add(1, CommError{1, Code::timeout,
                                 job.text("Timed out waiting 10000ms for recv operation to complete")});
        }
        EXPECT_EQ(asked("peer_connection", job.watched()).size(), timeouts ? 0u : 1u);
    }
}

// Ranks 0 and 1 wait for each other, time out and end; rank 2 sees their connections closed. Rank 3 that ends at the
// same time without a word is another matter.
TEST(PeerConnection, IsSilentAboutRanksThatGaveUpAndEnded) {
    for (const bool silent_death : {false, true}) {
        EvidenceBuilder job = three_steps(4);
        for (const Rank rank : {0, 1}) {
            job.add(rank, CommError{1, Code::timeout,
                                    job.text("Timed out waiting 10000ms for recv operation to complete")});
            job.exits(rank, 1, 0);
        }
        if (silent_death) job.exits(3, 1, 0);
        job.after(10ms).add(2, CommError{1, Code::remote_error,
                                         job.text("[pair.cc:547] Connection closed by peer [127.0.0.1]:1")});
        EXPECT_EQ(asked("peer_connection", job.watched()).size(), silent_death ? 1u : 0u);
    }
}

// One rank's own library fails, and it ends: what others tell of its host is about it, not its neighbours.
// Had it not ended, the link could be broken at either of its ends.
TEST(PeerConnection, BlamesOfAnAccusedHostWhoeverHadEnded) {
    for (const bool ended : {true, false}) {
        EvidenceBuilder job = three_steps(8);
        job.add(1, CommError{1, Code::remote_error, job.text("Connection closed by peer")}).after(1ms);
        if (ended) job.exits(1, 1, 0).after(1ms);
        for (const Rank rank : {4, 5, 6, 7}) {
            job.add(rank, CommError{1, Code::remote_error,
                                    job.text("[pair.cc:547] Connection closed by peer [node0]:1")});
        }
        EXPECT_EQ(found_by("peer_connection", job.watched()).blame.ranks,
                  ended ? ranks({1}) : job.everybody());
    }
}

// Asked to end by somebody outside, and started again: its peers saw it go. Without the restart, or where a
// rank had failed before the launcher ended the others, a connection was lost.
TEST(PeerConnection, IsSilentAboutARankThatWasAskedToEndBeforeARestart) {
    const auto told = [](int code, int signal, bool restarted) {
        EvidenceBuilder job = three_steps(4);
        job.exits(2, code, signal).after(10ms);
        job.add(1, CommError{1, Code::remote_error,
                             job.text("[pair.cc:547] Connection closed by peer [127.0.0.1]:1")});
        job.after(100ms).exits(0, 0, 15).exits(1, 0, 15).exits(3, 0, 15);
        if (restarted) job.after(1s).add(no_rank, Restart{1}).after(1s).start().world();
        return job.watched();
    };
    expect_silence_of("peer_connection", told(0, 15, true));
    EXPECT_EQ(asked("peer_connection", told(0, 15, false)).size(), 1u);
    EXPECT_EQ(found_by("peer_connection", told(1, 0, true)).blame.ranks, ranks({2}));
}

// Another one had left before it: who is asked to end a second after a connection was lost is no reason for
// that, and neither is who complained itself.
TEST(PeerConnection, TakesNobodyForLeavingWhoLeftLater) {
    const auto told = [](Rank leaves, Time before, Time after) {
        EvidenceBuilder job = three_steps(4);
        job.after(1s);
        if (before > Time{0}) job.exits(leaves, 0, 15).after(before);
        job.add(1, CommError{1, Code::remote_error,
                             job.text("[pair.cc:547] Connection closed by peer [127.0.0.1]:1")});
        job.after(after);
        if (before == Time{0}) job.exits(leaves, 0, 15).after(10ms);
        for (const Rank rank : {0, 1, 2, 3}) {
            if (rank != leaves) job.exits(rank, 0, 15);
        }
        job.after(1s).add(no_rank, Restart{1}).after(1s).start().world();
        return job.watched();
    };
    expect_silence_of("peer_connection", told(2, 10ms, 100ms));
    EXPECT_EQ(asked("peer_connection", told(2, Time{0}, 2s)).size(), 1u);
    EXPECT_EQ(asked("peer_connection", told(1, Time{0}, 100ms)).size(), 1u);
}

TEST(PeerConnection, BlamesTheNodeWhosePortIsDown) {
    EvidenceBuilder job = three_steps(8);
    job.add(no_rank, LinkSample{job.text("node0 mlx5_0"), 1, 1000, 1000, 0, 3});
    job.add(no_rank, LinkSample{job.text("node1 mlx5_0"), 0, 1000, 1000, 0, 3});
    for (const Rank rank : {0, 4}) {
        job.add(rank, CommError{1, Code::remote_error,
                                job.text("NET/IB: Got completion from peer with status="
                                         "IBV_WC_RETRY_EXC_ERR(12)")});
    }
    const Finding found = found_by("peer_connection", job.watched());
    EXPECT_EQ(found.blame.nodes, std::vector<std::int32_t>{1});
    EXPECT_EQ(found.blame.component, "link 1");
}

}  // namespace
}  // namespace deadrank::tests
