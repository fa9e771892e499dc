// tests/results/detectors/communication_test.cpp — Goal: who never came, who came with another call, and who
// was accused are named; those who only waited are not.
#include <functional>

#include "tests/results/detectors/run_detector.h"

namespace deadrank::tests {
namespace {

TEST(CollectiveHang, NamesTheRankThatNeverCame) {
    EvidenceBuilder job = three_steps(8);
    for (const Rank rank : job.everybody_but(5)) job.enters(rank, 1, 4);
    job.exits(5, -9, 9);
    const Finding found = found_by("collective_hang", job.watched(2min));
    EXPECT_EQ(found.blame.ranks, ranks({5}));
    EXPECT_EQ(found.blame.nodes, std::vector<std::int32_t>{1});
    EXPECT_EQ(found.blame.step, 3);
    EXPECT_EQ(found.blame.collective, "all_reduce");
    EXPECT_EQ(found.causes.front(), "unpropagated_rank_failure");
    EXPECT_GE(found.at, 60s);
    EXPECT_LE(found.at, 61s);
}

TEST(CollectiveHang, WaitsAMinuteBeforeItCallsSilenceAHang) {
    EvidenceBuilder job = three_steps(4);
    for (const Rank rank : job.everybody_but(2)) job.enters(rank, 1, 4);
    expect_silence_of("collective_hang", job.watched(59s));
}

TEST(CollectiveHang, FollowsAChainOverGroupsToItsEnd) {
    EvidenceBuilder job(8);
    job.start().world().comm(2, "tp", {0, 1, 2, 3}).comm(3, "tp", {4, 5, 6, 7}).step(0).step(1);
    for (const Rank rank : {4, 5, 7}) job.enters(rank, 3, 1);  // 6 is the one who is silent
    for (const Rank rank : {0, 1, 2, 3}) job.enters(rank, 1, 3);
    EXPECT_EQ(found_by("collective_hang", job.watched(2min)).blame.ranks, ranks({6}));
}

TEST(CollectiveHang, OfACircleBlamesWhoLeftTheUsualOrder) {
    EvidenceBuilder job(4);
    job.start().world().comm(2, "a", {0, 1, 2, 3}).comm(3, "b", {0, 1, 2, 3});
    for (std::int64_t seq = 1; seq <= 3; ++seq) {
        job.collective(2, seq, job.everybody()).collective(3, seq, job.everybody());
    }
    for (const Rank rank : {0, 2, 3}) job.enters(rank, 2, 4);
    job.enters(1, 3, 4);  // b before a
    const Finding found = found_by("collective_hang", job.watched(2min));
    EXPECT_EQ(found.blame.ranks, ranks({1}));
    // Who leaves a out and who takes b before it look alike: it never entered a.
    EXPECT_EQ(found.causes,
              (std::vector<std::string>{"rank_divergent_control_flow", "communication_order_divergence"}));
}

// A circle through two groups of one name: 2 waits for 3, 3 for 7, 7 for 6 and 6 for 2.
TEST(CollectiveHang, OfACircleThroughSeveralGroupsBlamesWhoIsMissingInEach) {
    EvidenceBuilder job(8);
    job.start().world().comm(2, "intra", {0, 1, 2, 3}).comm(3, "intra", {4, 5, 6, 7});
    for (const Rank rank : {0, 1, 2, 3}) job.comm(4 + static_cast<CommId>(rank), "inter", {rank, rank + 4});
    for (const Rank rank : {0, 1, 2}) job.enters(rank, 2, 1);
    for (const Rank rank : {4, 5, 7}) job.enters(rank, 3, 1);
    job.enters(3, 7, 1).enters(6, 6, 1);
    const Finding found = found_by("collective_hang", job.watched(2min));
    EXPECT_EQ(found.blame.ranks, ranks({3, 6}));
    EXPECT_THAT(found.says, testing::HasSubstr("rank 6 of another group likewise"));
}

TEST(CollectiveHang, OfTwoThatSendToEachOtherBlamesBoth) {
    EvidenceBuilder job(2);
    job.start().world();
    job.add(0, P2pEnter{1, 1, 64, 1, 0, Op::send, Dtype::f32})
        .add(1, P2pEnter{1, 1, 64, 0, 0, Op::send, Dtype::f32});
    const Finding found = found_by("collective_hang", job.watched(2min));
    EXPECT_EQ(found.blame.ranks, ranks({0, 1}));
    EXPECT_EQ(found.blame.collective, "send");
}

TEST(CollectiveHang, NamesTheOddOnesOfAllGroupsThatStandStill) {
    EvidenceBuilder job(8);
    job.start().world().comm(2, "tp", {0, 1, 2, 3}).comm(3, "tp", {4, 5, 6, 7}).step(0).step(1);
    for (const Rank rank : {0, 1, 2}) job.enters(rank, 2, 1);
    job.enters(3, 2, 1, Op::all_gather);
    for (const Rank rank : {4, 6, 7}) job.enters(rank, 3, 1);
    job.enters(5, 3, 1, Op::all_gather);
    EXPECT_EQ(found_by("collective_hang", job.watched(2min)).blame.ranks, ranks({3, 5}));
}

TEST(CollectiveHang, TellsWhoNeverLeftACallFromWhoNeverCame) {
    EvidenceBuilder job = three_steps(4);
    for (const Rank rank : job.everybody()) job.enters(rank, 1, 4);
    for (const Rank rank : job.everybody_but(2)) job.leaves(rank, 1, 4);
    for (const Rank rank : job.everybody_but(2)) job.enters(rank, 1, 5);
    EXPECT_EQ(found_by("collective_hang", job.watched(2min)).blame.ranks, ranks({2}));
}

// Rank 1 has no batch for step 3 and begins the next one, empty too, at the same moment.
TEST(CollectiveHang, NamesTheFirstStepThatARankHadNothingFor) {
    EvidenceBuilder job(4);
    job.start().world().step(0).step(1).step(2);
    for (const Rank rank : job.everybody()) job.add(rank, StepBegin{3});
    job.add(1, StepEnd{3}).add(1, StepBegin{4}).add(1, StepEnd{4}).exits(1, 0);
    for (const Rank rank : job.everybody_but(1)) job.enters(rank, 1, 4);
    const Finding found = found_by("collective_hang", job.watched(2min));
    EXPECT_EQ(found.blame.ranks, ranks({1}));
    EXPECT_EQ(found.blame.step, 3);
}

// Rank 2 leaves the broadcast of step 3 out, and comes to it with the all-reduce of step 4.
TEST(CollectiveHang, NamesTheStepOfACallLeftOutThoughALaterOneMetIt) {
    EvidenceBuilder job = three_steps(4);
    job.collective(1, 4, job.everybody());
    job.add(2, StepEnd{3}).add(2, StepBegin{4}).enters(2, 1, 5);
    for (const Rank rank : job.everybody_but(2)) job.enters(rank, 1, 5, Op::broadcast);
    const Finding found = found_by("collective_hang", job.watched(2min));
    EXPECT_EQ(found.blame.ranks, ranks({2}));
    EXPECT_EQ(found.blame.step, 3);
}

TEST(CollectiveTimeout, BlamesWhoWasWaitedForAndNotWhoComplained) {
    EvidenceBuilder job = three_steps(4);
    for (const Rank rank : job.everybody_but(1)) job.enters(rank, 1, 4);
    job.after(10min);
    for (const Rank rank : job.everybody_but(1)) {
        job.log(rank, fmt::format(
                          "[Rank {}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=4, "
                          "OpType=ALLREDUCE, NumelIn=1024, NumelOut=1024, Timeout(ms)=600000) ran for 600012 "
                          "milliseconds before timing out.",
                          rank));
        job.add(rank, CommAbort{1}).exits(rank, -6, 6);
    }
    const Evidence evidence = job.watched();
    const Finding found = found_by("collective_timeout", evidence);
    EXPECT_EQ(found.blame.ranks, ranks({1}));
    EXPECT_EQ(found.blame.step, 3);
    EXPECT_EQ(found.blame.collective, "all_reduce");
    EXPECT_EQ(found.causes.front(), "rank_divergent_control_flow");
}

TEST(CollectiveTimeout, BelievesTheMonitoredBarrier) {
    EvidenceBuilder job = three_steps(4);
    for (const Rank rank : job.everybody()) job.enters(rank, 1, 4, Op::barrier);
    job.after(10s).log(0, "RuntimeError: [Rank 0]: Ranks 2, 3 failed to pass monitoredBarrier in 10000 ms");
    EXPECT_EQ(found_by("collective_timeout", job.watched()).blame.ranks, ranks({2, 3}));
}

TEST(CollectiveTimeout, ReadsGlooAsWell) {
    EvidenceBuilder job = three_steps(3);
    job.enters(0, 1, 4).enters(2, 1, 4).after(10s);
    job.log(
        0,
        "RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/unbound_buffer.cc:78] Timed out waiting "
        "10000ms for recv operation to complete");
    EXPECT_EQ(found_by("collective_timeout", job.watched()).blame.ranks, ranks({1}));
}

// The work is done, and nobody gets out: no beginning, no collective, and no rank to blame.
TEST(CollectiveHang, SeesRanksThatCannotLeaveTheGroup) {
    EvidenceBuilder job(4);
    job.start().world();
    for (std::int64_t step = 0; step < 4; ++step) job.step(step);
    for (const Rank rank : job.everybody())
        job.add(rank, RendezvousEnter{rank, 4, job.text("rendezvous/store")});
    const Finding all = found_by("collective_hang", job.watched(2min));
    EXPECT_TRUE(all.blame.ranks.empty());
    EXPECT_EQ(all.blame.component, "store");
    expect_silence_of("setup_hang", job.watched());

    EvidenceBuilder one_missing(4);
    one_missing.start().world();
    for (std::int64_t step = 0; step < 4; ++step) one_missing.step(step);
    for (const Rank rank : {0, 1, 3})
        one_missing.add(rank, RendezvousEnter{rank, 4, one_missing.text("rendezvous/store")});
    EXPECT_EQ(found_by("collective_hang", one_missing.watched(2min)).blame.ranks, ranks({2}));
}

TEST(CollectiveHang, IsSilentWhereAllLeave) {
    EvidenceBuilder job(4);
    job.start().world().step(0).step(1).step(2);
    for (const Rank rank : job.everybody())
        job.add(rank, RendezvousEnter{rank, 4, job.text("rendezvous/store")});
    for (const Rank rank : job.everybody()) job.add(rank, RendezvousLeave{4, Code::ok});
    expect_silence_of("collective_hang", job.after(5s).all_exit().watched());
}

TEST(TransportDegraded, SeesTcpWhereThereIsRdma) {
    EvidenceBuilder job(8);
    job.start();
    for (const Rank rank : job.everybody()) job.joins(rank, 1, "world", job.everybody(), rank);
    for (const Rank rank : job.everybody())
        job.add(rank, CommInitLeave{1, Code::ok, job.text("NET/Socket over eth0")});
    job.add(no_rank, LinkSample{job.text("node1 mlx5_0")});
    EXPECT_EQ(found_by("transport_degraded", job.watched()).symptom, "collective_transport_degraded");
}

// Without a rank whose cards reach its device nothing says that any could.
TEST(TransportDegraded, SeesCopiesThroughTheHostWhereOthersDoWithout) {
    const auto job_of = [](const std::string& others) {
        EvidenceBuilder job(8);
        job.start();
        for (const Rank rank : job.everybody()) job.joins(rank, 1, "world", job.everybody(), rank);
        for (const Rank rank : job.everybody()) {
            const std::string own = "NET/IB copied through host memory for NCCL_NET_GDR_LEVEL";
            job.add(rank, CommInitLeave{1, Code::ok, job.text(rank == 5 ? own : others)});
        }
        return job.watched();
    };
    const Finding found = found_by("transport_degraded", job_of("NET/IB"));
    EXPECT_EQ(found.blame.ranks, std::vector<Rank>{5});
    EXPECT_EQ(found.blame.variable, "NCCL_NET_GDR_LEVEL");
    expect_silence_of("transport_degraded", job_of("NET/IB copied through host memory"));
}

EvidenceBuilder tried_pairs(const std::function<int(int, int)>& reached) {
    EvidenceBuilder job(4, 1);
    job.start().world();
    for (int from = 0; from < 4; ++from) {
        for (int to = from + 1; to < 4; ++to)
            job.log(to,
                    fmt::format("bandwidth rank {} -> rank {}: {} MB/s, 50000 MB/s expected", from, to,
                                reached(from, to)),
                    0);
    }
    job.step(0).step(1);
    return job;
}

TEST(TransportDegraded, NamesTheNodeThatIsInEverySlowPair) {
    auto job = tried_pairs([](int from, int to) { return from == 2 || to == 2 ? 25000 : 49000; });
    const Finding found = found_by("transport_degraded", job.watched(1s));
    EXPECT_EQ(found.blame.nodes, std::vector<std::int32_t>{2});
    EXPECT_EQ(found.blame.component, "link 2");
}

TEST(TransportDegraded, NamesBothEndsOfASingleSlowPairAndNobodyWhereAllAre) {
    auto one = tried_pairs([](int from, int to) { return from == 1 && to == 3 ? 25000 : 49000; });
    EXPECT_EQ(found_by("transport_degraded", one.watched(1s)).blame.nodes, (std::vector<std::int32_t>{1, 3}));
    auto all = tried_pairs([](int, int) { return 25000; });
    EXPECT_TRUE(found_by("transport_degraded", all.watched(1s)).blame.nodes.empty());
    auto none = tried_pairs([](int, int) { return 49000; });
    expect_silence_of("transport_degraded", none.watched(1s));
}

TEST(TransportDegraded, SeesCallsThatTakeLongerThanTheyDid) {
    EvidenceBuilder job(8);
    job.start().world();
    for (std::int64_t seq = 1; seq <= 12; ++seq) {
        job.after(100ms).collective(1, seq, job.everybody(), Op::all_reduce, seq <= 6 ? 1ms : 10ms);
    }
    const Finding found = found_by("transport_degraded", job.watched());
    EXPECT_EQ(found.blame.component, "link 0-1");
}

// gloo's transfers are made by threads of the ranks: what they lose of their processors is no link's doing.
TEST(TransportDegraded, IsSilentOnSharedProcessorsUnderGloo) {
    const auto job_of = [](Time slow, double starved) {
        EvidenceBuilder job(2);
        job.start();
        for (const Rank rank : {0, 1})
            job.add(rank, CommInitEnter{1, 2, rank, job.text("world"), job.text("0-1")})
                .add(rank, CommInitLeave{1, Code::ok, job.text("gloo")});
        for (std::int64_t step = 0; step < 20; ++step) {
            for (const Rank rank : {0, 1}) job.add(rank, StepBegin{step}).enters(rank, 1, step + 1);
            job.after(step < 8 ? Time(1ms) : slow);
            for (const Rank rank : {0, 1})
                job.leaves(rank, 1, step + 1)
                    .add(rank, ValueSample{step, job.text("transfer_wait"), starved, std::nan("")})
                    .add(rank, StepEnd{step, 1, 1});
        }
        return job.watched();
    };
    expect_silence_of("transport_degraded", job_of(4ms, 0));
    expect_silence_of("transport_degraded", job_of(40ms, 0.05));
    EXPECT_EQ(found_by("transport_degraded", job_of(40ms, 0)).blame.component, "network");
}

TEST(TransportDegraded, ComparesAGroupWithItselfBeforeTheRestart) {
    const auto job_with = [](Time after) {
        EvidenceBuilder job(8);
        job.start().world();
        for (std::int64_t seq = 1; seq <= 6; ++seq)
            job.after(100ms).collective(1, seq, job.everybody(), Op::all_reduce, 1ms);
        job.after(5s).add(no_rank, Restart{1, job.text("rank 2 failed")});
        for (const Rank rank : job.everybody())
            job.start(rank, job.environment(rank), "cuda=13.0\nnccl=2.16.2");
        job.world();
        for (std::int64_t seq = 1; seq <= 6; ++seq)
            job.after(100ms).collective(1, seq, job.everybody(), Op::all_reduce, after);
        return job.watched();
    };
    const Finding found = found_by("transport_degraded", job_with(10ms));
    EXPECT_EQ(found.causes.front(), "dependency_or_hardware_mismatch");
    EXPECT_NE(found.says.find("since the restart"), std::string::npos) << found.says;
    expect_silence_of("transport_degraded", job_with(1ms));
}

TEST(TransportDegraded, SeesPortsThatSendAgain) {
    EvidenceBuilder job(8);
    job.start().world();
    for (int look = 0; look < 4; ++look) {
        job.after(1s).add(no_rank, LinkSample{job.text("node1 mlx5_0"), 1, look * 1000, 0, 0, look * 20});
        job.add(no_rank, LinkSample{job.text("node0 mlx5_0"), 1, look * 1000, 0, 0, 0});
    }
    EXPECT_EQ(found_by("transport_degraded", job.watched()).blame.component, "link 1");
}

TEST(TransportDegraded, SeesAPortThatGoesDownAgainAndAgain) {
    EvidenceBuilder job(8);
    job.start().world();
    for (int look = 0; look < 3; ++look) {
        job.after(1s).add(no_rank, LinkSample{job.text("node1 mlx5_0"), 1, look * 1000, 0, look, 0});
        job.add(no_rank, LinkSample{job.text("node0 mlx5_0"), 1, look * 1000, 0, 0, 0});
    }
    EXPECT_EQ(found_by("transport_degraded", job.watched()).blame.component, "link 1");
}

}  // namespace
}  // namespace deadrank::tests
