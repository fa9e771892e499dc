// tests/results/detectors/setup_test.cpp — Goal: who spoilt the start is named, and the variable or package
// behind it; a difference that harmed nobody is no alarm.
#include "tests/results/detectors/run_detector.h"

namespace deadrank::tests {
namespace {

// Starts everybody, these ranks with something else in their environment.
EvidenceBuilder started(Rank ranks, const std::vector<Rank>& odd = {}, const std::string& more = "",
                        const std::string& versions = EvidenceBuilder::sound_versions) {
    EvidenceBuilder job(ranks);
    for (const Rank rank : job.everybody()) {
        const bool is_odd = std::count(odd.begin(), odd.end(), rank) > 0;
        job.start(rank, job.environment(rank, is_odd ? more : ""),
                  is_odd ? versions : EvidenceBuilder::sound_versions);
    }
    return job;
}

void fails_in_init(EvidenceBuilder& job, const std::vector<Rank>& ranks, const std::string& text) {
    for (const Rank rank : job.everybody())
        job.rendezvous(rank, rank, static_cast<Rank>(job.everybody().size()));
    for (const Rank rank : job.everybody()) job.joins(rank, 1, "world", job.everybody(), rank);
    job.after(1s);
    for (const Rank rank : ranks) {
        job.add(rank, CommError{1, Code::invalid_usage, job.text(text)})
            .add(rank, CommInitLeave{1, Code::invalid_usage});
    }
}

const std::string versions_differ =
    "Mismatched NCCL version detected : rank 4 version 22705 rank 0 version 22809";
const std::string older = "cuda=13.0\nnccl=2.27.5\npython=3.11\ntorch=2.11.0";

TEST(VersionSkew, NamesTheOddRanksAndThePackage) {
    EvidenceBuilder job = started(8, {6, 7}, "", older);
    fails_in_init(job, job.everybody(), versions_differ);
    const Finding found = found_by("version_skew", job.watched());
    EXPECT_EQ(found.symptom, "communication_setup_failure");
    EXPECT_EQ(found.blame.ranks, ranks({6, 7}));
    EXPECT_EQ(found.blame.component, "nccl");
    EXPECT_EQ(found.causes.front(), "version_skew_across_ranks");
}

TEST(VersionSkew, IsSilentWhenTheDifferenceHarmedNobody) {
    EvidenceBuilder job = started(8, {6, 7}, "", older);
    job.world().step(0).step(1).all_exit();
    expect_silence_of("version_skew", job.watched());
}

TEST(VersionSkew, HoldsNoSilenceAgainstTheOneThatTold) {
    EvidenceBuilder job = started(8, {0}, "", "cuda=13.0\nnccl=2.28.9\npython=3.11\ntorch=2.11.0\nucx=1.13");
    fails_in_init(job, job.everybody(), "Timed out after 61 seconds waiting for clients");
    expect_silence_of("version_skew", job.watched());
}

TEST(EnvironmentFault, NamesTheVariableThatTheErrorIsAbout) {
    EvidenceBuilder job = started(8, {4, 5, 6, 7}, "NCCL_SOCKET_IFNAME=eht0");
    fails_in_init(job, {4, 5, 6, 7}, "Bootstrap : no socket interface found");
    const Finding found = found_by("environment_fault", job.watched());
    EXPECT_EQ(found.blame.variable, "NCCL_SOCKET_IFNAME");
    EXPECT_EQ(found.blame.ranks, ranks({4, 5, 6, 7}));
}

TEST(EnvironmentFault, KnowsWhatIsMissingUnreadableMisspelledOrUnlikeItsPeers) {
    struct Row {
        std::string more, variable;
    };
    for (const Row& row : std::vector<Row>{{"RANK=three", "RANK"},
                                           {"NCCL_IB_TIMEOUT=long", "NCCL_IB_TIMEOUT"},
                                           {"NCCL_SOKET_IFNAME=eth0", "NCCL_SOKET_IFNAME"},
                                           {"NCCL_ALGO=Tree", "NCCL_ALGO"},
                                           {"MASTER_PORT=0", "MASTER_PORT"},
                                           {"RANK=17", "RANK"}}) {
        EvidenceBuilder job = started(4, {2}, row.more);
        fails_in_init(job, {2}, "NCCL error in: init.cc");
        const Finding found = found_by("environment_fault", job.watched());
        EXPECT_EQ(found.blame.variable, row.variable);
        EXPECT_EQ(found.blame.ranks, ranks({2})) << row.more;
    }
}

TEST(EnvironmentFault, IsSilentWhenNothingBroke) {
    EvidenceBuilder job = started(4, {2}, "NCCL_ALGO=Tree\nNCCL_SOKET_IFNAME=eth0");
    job.world().step(0).all_exit();
    expect_silence_of("environment_fault", job.watched());
}

TEST(RankOrder, NamesTheSecondClaimantOfARank) {
    EvidenceBuilder job(4);
    job.start();
    for (const Rank rank : job.everybody()) job.rendezvous(rank, rank == 3 ? 0 : rank, 4);
    EXPECT_EQ(found_by("rank_order", job.watched()).blame.ranks, ranks({3}));
}

TEST(RankOrder, NamesRanksThatAreNotWhereTheLauncherPutThem) {
    EvidenceBuilder job(8);
    job.start();
    for (const Rank rank : job.everybody()) job.rendezvous(rank, rank == 1 ? 5 : rank == 5 ? 1 : rank, 8);
    EXPECT_EQ(found_by("rank_order", job.watched()).blame.ranks, ranks({1, 5}));
}

TEST(RankOrder, NamesWhoBelievesInAnotherGroup) {
    EvidenceBuilder job(8);
    job.start().world();
    for (const Rank rank : {0, 1, 2}) job.joins(rank, 2, "tp", {0, 1, 2, 3}, rank);
    job.joins(3, 2, "tp", {0, 2, 4, 6}, 3);
    EXPECT_EQ(found_by("rank_order", job.watched()).blame.ranks, ranks({3}));
}

// Goal: a member list that comes from another WORLD_SIZE names that variable; one that does not, names none.
TEST(RankOrder, NamesTheWorldSizeThatDiffers) {
    const auto blamed = [](const std::string& more, const std::vector<Rank>& believed) {
        EvidenceBuilder job = started(4, {1}, more);
        for (const Rank rank : job.everybody()) job.rendezvous(rank, rank, 4);
        for (const Rank rank : {0, 2, 3}) job.joins(rank, 1, "world", job.everybody(), rank);
        job.joins(1, 1, "world", believed, 1);
        return found_by("rank_order", job.watched());
    };
    const Finding sized = blamed("WORLD_SIZE=2", {0, 1});
    EXPECT_EQ(sized.blame.variable, "WORLD_SIZE");
    EXPECT_EQ(sized.blame.ranks, ranks({1}));
    EXPECT_EQ(sized.causes.front(), "misconfigured_environment_variable");
    const Finding built = blamed("", {0, 1});
    EXPECT_EQ(built.blame.variable, "");
    EXPECT_EQ(built.causes.front(), "group_construction_error");
}

TEST(RankOrder, SeesGroupsThatOverlap) {
    EvidenceBuilder job(8);
    job.start().world().comm(2, "ep", {0, 2, 4, 6}).comm(3, "ep", {0, 1, 2, 3});
    EXPECT_EQ(found_by("rank_order", job.watched()).symptom, "wrong_rank_or_group_membership");
}

// 2.28, 2.30.3 and 2.30.7. Only the first names ranks; the others are blamed with whoever said it.
TEST(SetupFailure, KnowsADeviceTakenTwiceInTheWordsOfEachRelease) {
    for (const std::string words :
         {"Duplicate GPU detected : rank 0 and rank 1 both on CUDA device 50000",
          "Multiple ranks detected using the same GPU on this node. Set NCCL_MULTI_RANK_GPU_ENABLE=1 to "
          "enable this configuration.",
          "Multiple Ranks are using the same GPU/Partition. Set NCCL_MULTI_RANK_GPU_ENABLE=1 to enable this "
          "configuration."}) {
        EvidenceBuilder job = started(4);
        fails_in_init(job, {0, 1}, words);
        const Finding found = found_by("setup_failure", job.watched());
        EXPECT_EQ(found.symptom, "communication_setup_failure") << words;
        EXPECT_EQ(found.blame.ranks, ranks({0, 1})) << words;
        EXPECT_EQ(found.causes.front(), "rank_or_device_derivation_error") << words;
        EvidenceBuilder told = started(4);  // by the log alone
        for (const Rank rank : {0, 1}) told.log(rank, "init.cc:1057 NCCL WARN " + words);
        EXPECT_EQ(found_by("setup_failure", told.watched()).blame.ranks, ranks({0, 1})) << words;
    }
}

TEST(SetupFailure, BlamesOnesOwnErrorBeforeThatOfThoseWhoWaited) {
    EvidenceBuilder job(4);
    job.start().after(1s);
    job.log(
        2,
        "ValueError: Error initializing torch.distributed using env:// rendezvous: environment variable RANK "
        "expected, but not set");
    job.after(300s).log(
        0,
        "torch.distributed.DistStoreError: Timed out after 301 seconds waiting for clients. 3/4 "
        "clients joined.");
    const Finding found = found_by("setup_failure", job.watched());
    EXPECT_EQ(found.blame.ranks, ranks({2}));
    EXPECT_EQ(found.blame.variable, "RANK");
    EXPECT_EQ(found.at, 1s);
}

TEST(SetupFailure, NamesTheVariableThatTheWordsAreAbout) {
    const std::pair<std::string, std::string> told[] = {
        {"ValueError: Error initializing torch.distributed using env:// rendezvous: environment variable "
         "WORLD_SIZE expected, but not set",
         "WORLD_SIZE"},
        {"torch.distributed.DistNetworkError: The server socket has failed to listen on any local network "
         "address. port: 29500, useIpv6: false, code: -98, name: EADDRINUSE, message: address already in use",
         "MASTER_PORT"},
        {"torch.distributed.DistNetworkError: The IPv6 network addresses of (node0, 29500) cannot be "
         "retrieved (gai error: -2 - Name or service not known).",
         "MASTER_ADDR"},
        {"torch.distributed.DistStoreError: Timed out after 301 seconds waiting for clients. 3/4 clients "
         "joined.",
         ""}};
    for (const auto& [words, variable] : told) {
        EvidenceBuilder job(4);
        job.start().after(1s).log(2, words);
        EXPECT_EQ(found_by("setup_failure", job.watched()).blame.variable, variable) << words;
    }
}

TEST(SetupFailure, BlamesTheAbsentWhenAllOthersOnlyWaited) {
    EvidenceBuilder job(4);
    job.start();
    for (const Rank rank : {0, 1, 3}) job.add(rank, RendezvousEnter{rank, 4, job.text("node0:29500")});
    job.after(301s);
    for (const Rank rank : {0, 1, 3}) {
        job.log(rank, "DistStoreError: Timed out after 301 seconds waiting for clients. 3/4 clients joined.");
    }
    EXPECT_EQ(found_by("setup_failure", job.watched()).blame.ranks, ranks({2}));
}

TEST(SetupFailure, KnowsFromLogsAloneWhichClientsNeverJoined) {
    EvidenceBuilder job(4);
    job.start();
    for (const Rank rank : {0, 1, 3}) {
        job.log(
            rank,
            "torch.distributed.DistStoreError: Timed out after 301 seconds waiting for clients. 3/4 clients "
            "joined.");
    }
    EXPECT_EQ(found_by("setup_failure", job.watched(1s)).blame.ranks, ranks({2}));
}

TEST(SetupFailure, BlamesWhoBelievesInAnotherEndpoint) {
    EvidenceBuilder job(3);
    job.start();
    for (const Rank rank : {0, 1}) job.add(rank, RendezvousEnter{rank, 3, job.text("node0:29500")});
    job.add(2, RendezvousEnter{2, 3, job.text("node0:1")}).after(11s);
    for (const Rank rank : {0, 1})
        job.log(rank, "Timed out after 11 seconds waiting for clients. 2/3 clients joined.");
    job.log(2, "The client socket has timed out after 10000ms while trying to connect to (node0, 1).");
    EXPECT_EQ(found_by("setup_failure", job.watched()).blame.ranks, ranks({2}));
}

// Rank 3 waits in the store when the others have ended of an error of their own: that one is to be told.
TEST(SetupFailure, IsSilentWhereTheOthersEndedOfSomethingElse) {
    EvidenceBuilder job(4);
    job.start();
    for (const Rank rank : job.everybody()) job.add(rank, RendezvousEnter{rank, 4, job.text("node0:29500")});
    for (const Rank rank : {0, 1, 2})
        job.log(rank, "Traceback (most recent call last):\nValueError: Expected device_mesh to have ndim=2")
            .exits(rank, 1);
    job.after(10ms).log(3,
                        "Traceback (most recent call last):\ntorch.distributed.DistNetworkError: Failed to "
                        "recv, got 0 bytes. Connection was likely closed.");
    expect_silence_of("setup_failure", job.watched());
}

TEST(SetupFailure, NamesWhoCannotResolveTheNameOfTheStore) {
    EvidenceBuilder job(2);
    job.start();
    for (const Rank rank : {0, 1}) job.add(rank, RendezvousEnter{rank, 2, job.text("node0:29500")});
    job.log(
        1,
        "The IPv6 network addresses of (node0, 29500) cannot be retrieved (gai error: -2 - Name or service "
        "not known).",
        1);
    job.after(61s).log(0,
                       "DistStoreError: Timed out after 61 seconds waiting for clients. 1/2 clients joined.");
    const Finding found = found_by("setup_failure", job.watched());
    EXPECT_EQ(found.blame.ranks, ranks({1}));
    EXPECT_EQ(found.blame.variable, "MASTER_ADDR");
}

TEST(SetupFailure, NamesTheAddressThatIsAnotherMachineOfTheJob) {
    const auto variable_for = [](const std::string& host) {
        EvidenceBuilder job(8);
        job.start();
        for (const Rank rank : job.everybody())
            job.add(rank, RendezvousEnter{rank, 8, job.text(host + ":29500")});
        job.after(61s);
        for (const Rank rank : job.everybody())
            job.log(rank,
                    fmt::format("torch.distributed.DistNetworkError: The client socket has timed out after "
                                "60000ms while trying to connect to ({}, 29500).",
                                host));
        return found_by("setup_failure", job.watched()).blame.variable;
    };
    EXPECT_EQ(variable_for("node1"), "MASTER_ADDR");
    EXPECT_EQ(variable_for("node0"), "");
    EXPECT_EQ(variable_for("store.example.org"), "") << "may well be rank 0's, by another name";
}

// Rank 0 keeps the store, and looks for one on its own machine itself.
TEST(SetupFailure, NamesRankZeroWhereNobodyServesTheStore) {
    EvidenceBuilder job(8);
    job.start().after(61s);
    for (const Rank rank : job.everybody())
        job.log(rank,
                "torch.distributed.DistNetworkError: The client socket has timed out after 60000ms while "
                "trying to connect to (node0, 29500).");
    EXPECT_EQ(found_by("setup_failure", job.watched()).blame.ranks, ranks({0}));
}

TEST(SetupFailure, KnowsAnErrorOfNcclBeforeTheGroupIsThere) {
    for (const bool there : {false, true}) {
        EvidenceBuilder job(4);
        job.start();
        if (there) job.world();
        for (const Rank rank : job.everybody())
            job.log(rank,
                    "Traceback (most recent call last):\ntorch.distributed.DistBackendError: NCCL error in: "
                    "ProcessGroupNCCL.cpp:1275, internal error - please report this issue to the NCCL "
                    "developers, NCCL version 2.14.3");
        EXPECT_EQ(asked("setup_failure", job.watched()).empty(), there);
    }
}

TEST(SetupHang, NamesWhoNeverJoinedTheGroup) {
    EvidenceBuilder job(8);
    job.start().world();
    for (const Rank rank : {0, 1, 3}) job.joins(rank, 2, "tp", {0, 1, 2, 3}, rank);
    const Finding found = found_by("setup_hang", job.watched(2min));
    EXPECT_EQ(found.symptom, "communication_setup_hang");
    EXPECT_EQ(found.blame.ranks, ranks({2}));
}

// Rank 2 is missed, but it waited for rank 6 itself until its time was up.
TEST(SetupHang, CountsWhoGaveUpAfterALongWait) {
    EvidenceBuilder job(8);
    job.start().world();
    for (const Rank rank : {0, 1, 3}) job.joins(rank, 2, "tp", {0, 1, 2, 3}, rank);
    job.joins(2, 3, "dp", {2, 6}, 0).after(5min).add(2, CommInitLeave{3, Code::timeout});
    EXPECT_EQ(found_by("setup_hang", job.watched(2min)).blame.ranks, ranks({6}));
}

// Groups that are created at their first call, as NCCL does: ranks 2 and 3 wait to create theirs with ranks 0
// and 1.
EvidenceBuilder two_stuck_in_a_call(const std::vector<Rank>& members, const std::vector<Rank>& present) {
    EvidenceBuilder job(4);
    job.start().world().comm(2, "tp", members);
    for (const Rank rank : present) job.enters(rank, 2, 1);
    job.after(1s);
    job.joins(2, 3, "dp", {0, 2}, 1).joins(3, 4, "dp", {1, 3}, 1);
    return job;
}

TEST(SetupHang, IsSilentWhereThoseWhoAreMissedWaitInACallOfTheirOwn) {
    expect_silence_of("setup_hang", two_stuck_in_a_call({0, 1}, {0, 1}).watched(2min));
}

TEST(SetupHang, NamesWhoIsMissedThereAndInThatCall) {
    EXPECT_EQ(found_by("setup_hang", two_stuck_in_a_call({0, 1}, {0}).watched(2min)).blame.ranks, ranks({1}));
}

// Ranks 0 and 1 wait for rank 2 in a call of the world instead of creating the group with it.
TEST(SetupHang, NamesWhoMakesAnotherCallWithThoseThatWaitAtTheSetUp) {
    EXPECT_EQ(found_by("setup_hang", two_stuck_in_a_call({0, 1, 2, 3}, {0, 1}).watched(2min)).blame.ranks,
              ranks({0, 1}));
}

TEST(SetupHang, IsSilentWhenSomebodyOnlyTookALittle) {
    EvidenceBuilder job(4);
    job.start().world();
    for (const Rank rank : {0, 1, 3}) job.joins(rank, 2, "tp", {0, 1, 2, 3}, rank);
    expect_silence_of("setup_hang", job.watched(50s));
}

TEST(PackageFailure, QuotesWhatTheProgramSaidAndNotItsLines) {
    EvidenceBuilder job(2);
    job.start();
    for (const char* line :
         {"[rank1]: Traceback (most recent call last):", "[rank1]:   File \"a.py\", line 3, in f",
          "[rank1]:     raise ImportError(", "[rank1]: ImportError: no package"})
        job.log(1, line);
    EXPECT_THAT(found_by("package_failure", job.watched()).says,
                testing::HasSubstr("ImportError: no package"));
}

TEST(PackageFailure, IsSilentOnAnImportThatTheProgramDoesWithout) {
    EvidenceBuilder job(2);
    job.start().world().step(0);
    job.log(1, "Backend of 'cross_entropy' could not be imported: ImportError: it needs the package cutlass");
    EXPECT_EQ(found_by("package_failure", job.watched()).blame.ranks, ranks({1}));
    job.step(1);
    expect_silence_of("package_failure", job.watched());
}

TEST(PackageFailure, TellsABuildFromAnImport) {
    EvidenceBuilder job(4);
    job.start();
    for (const Rank rank : {2, 3}) {
        job.add(rank, PackageLoad{job.text("flash_attn"), job.text("2.7"),
                                  job.text("ImportError: undefined symbol: _ZN3c10"), Code::corrupt});
    }
    const Finding found = found_by("package_failure", job.watched());
    EXPECT_EQ(found.symptom, "import_or_symbol_error");
    EXPECT_EQ(found.blame.component, "flash_attn");
    EXPECT_EQ(found.blame.ranks, ranks({2, 3}));

    EvidenceBuilder other(2);
    other.start().log(0, "RuntimeError: Error building extension 'fused_adam'");
    EXPECT_EQ(found_by("package_failure", other.watched()).symptom, "build_or_install_failure");
}

TEST(UnexpectedParallelization, SeesWorldsOfOne) {
    EvidenceBuilder job(4);
    job.start();
    for (const Rank rank : job.everybody()) {
        job.add(rank, RendezvousEnter{0, 1, job.text("node0:29500")}).add(rank, RendezvousLeave{1, Code::ok});
    }
    EXPECT_EQ(found_by("unexpected_parallelization", job.watched()).blame.ranks, ranks({0, 1, 2, 3}));
}

TEST(UnexpectedParallelization, SeesAGroupSmallerThanConfigured) {
    EvidenceBuilder job(4);
    job.start().world();
    for (const Rank rank : job.everybody()) job.add(rank, RankConfig{job.text("tp_size"), job.text("4")});
    job.comm(2, "tp", {0, 1}).comm(3, "tp", {2, 3});
    EXPECT_EQ(found_by("unexpected_parallelization", job.watched()).blame.variable, "tp_size");
}

// Devices by rank, on hosts of so many ranks each.
EvidenceBuilder on_devices(Rank per_host, const std::vector<std::int32_t>& devices) {
    EvidenceBuilder job(static_cast<Rank>(devices.size()), per_host);
    job.start();
    for (std::size_t rank = 0; rank < devices.size(); ++rank)
        job.add(static_cast<Rank>(rank), DeviceBind{job.text("model"), devices[rank]});
    return job;
}

TEST(WrongDevice, NamesWhoLandedElsewhere) {
    EXPECT_EQ(found_by("wrong_device", on_devices(4, {0, 1, 2, 0}).watched()).blame.ranks, ranks({3}));
    EXPECT_EQ(found_by("wrong_device", on_devices(4, {0, 0, 0, 0}).watched()).blame.ranks, ranks({1, 2, 3}))
        << "all but the one whose device it is";
    EXPECT_EQ(found_by("wrong_device", on_devices(2, {0, 1, 0, 0, 0, 1}).watched()).blame.ranks, ranks({3}));
}

// Goal: where the devices of a job lie otherwise, but alike for all, nobody is odd.
TEST(WrongDevice, LeavesAnotherPatternAlone) {
    for (const std::vector<std::int32_t>& devices : {std::vector<std::int32_t>{0, 1, 2, 3},
                                                     {4, 5, 6, 7, 4, 5, 6, 7},
                                                     {3, 2, 1, 0, 3, 2, 1, 0},
                                                     {0, 1, 3, 2, 0, 1, 2, 3}})
        expect_silence_of("wrong_device", on_devices(4, devices).watched());
    expect_silence_of("wrong_device", on_devices(8, {0, 1, 3, 2, 4, 5, 6, 7}).watched());
}

TEST(WrongDevice, FindsWhoLeavesAPatternThatIsNotTheUsualOne) {
    EXPECT_EQ(found_by("wrong_device", on_devices(4, {4, 5, 6, 7, 4, 5, 2, 7}).watched()).blame.ranks,
              ranks({6}));
}

// Goal: who moved to another host with a restart is measured by those who are there with it.
TEST(WrongDevice, CountsPlacesAnewAfterARestart) {
    EvidenceBuilder job = on_devices(2, {0, 1, 0, 1});
    job.after(1s).add(no_rank, Restart{.attempt = 1}).after(1s);
    for (const Rank rank : {0, 1}) {
        job.add(rank, RankStart{.pid = 2000 + rank, .node = 1});
        job.add(rank, DeviceBind{job.text("model"), rank});
    }
    expect_silence_of("wrong_device", job.watched());
}

}  // namespace
}  // namespace deadrank::tests
