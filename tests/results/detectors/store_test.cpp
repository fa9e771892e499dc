// tests/results/detectors/store_test.cpp — Goal: of a wait at the store that ended in vain, those are named
// who never came to it; the variable is blamed where the address came from it; what a rank said is quoted up
// to the words that matter.
#include "results/analysis/error_quote.h"
#include "tests/results/detectors/run_detector.h"

namespace deadrank::tests {
namespace {

const std::string no_key =
    "Traceback (most recent call last):\ntorch.distributed.DistStoreError: wait timeout after 300000ms, "
    "keys: "
    "/0";

EvidenceBuilder waits_for_a_key(Rank world, const std::vector<Rank>& waiting) {
    EvidenceBuilder job(world);
    job.start().world().after(300s);
    for (const Rank rank : waiting) job.log(rank, no_key).exits(rank, 1);
    return job;
}

TEST(StoreWait, NamesWhoNeverCameToSetTheKey) {
    EvidenceBuilder job = waits_for_a_key(8, {1, 2, 3, 4, 5, 6, 7});
    job.after(5s).exits(0, -15, 15);
    const Finding found = found_by("setup_failure", job.watched());
    EXPECT_EQ(found.blame.ranks, ranks({0}));
    EXPECT_NE(found.says.find("rank 0 never came to that wait"), std::string::npos) << found.says;
}

// Goal: who waits in a call for those others, or is a step ahead, had passed the wait.
TEST(StoreWait, SparesWhoHasGoneBeyondIt) {
    EvidenceBuilder calls(4);
    calls.start().world().after(1s);
    for (const Rank rank : {0, 1}) calls.enters(rank, 1, 1);
    calls.after(300s).log(2, no_key).log(3, no_key);
    EXPECT_EQ(found_by("setup_failure", calls.watched()).blame.ranks, ranks({2, 3}));
    EvidenceBuilder steps(4);
    steps.start().world().add(0, StepBegin{0}).after(300s);
    for (const Rank rank : {1, 2, 3}) steps.log(rank, no_key);
    EXPECT_EQ(found_by("setup_failure", steps.watched()).blame.ranks, ranks({1, 2, 3}));
}

TEST(StoreWait, LetsAFewWhoWaitedSpeakForThemselvesAlone) {
    EXPECT_EQ(found_by("setup_failure", waits_for_a_key(8, {5}).watched()).blame.ranks, ranks({5}));
}

std::string taken(int port) {
    return fmt::format(
        "torch.distributed.DistNetworkError: The server socket has failed to listen on any local network "
        "address. port: {}, useIpv6: false, code: -98, name: EADDRINUSE, message: address already in use",
        port);
}

TEST(SetupVariable, IsTheOneThatThePortCameFrom) {
    for (const auto& [port, variable] : {std::pair(29500, "MASTER_PORT"), {10000, ""}}) {
        EvidenceBuilder job(2);
        job.start().after(1s).log(0, taken(port));
        const Finding found = found_by("setup_failure", job.watched());
        EXPECT_EQ(found.blame.variable, variable) << port;
        EXPECT_NE(found.says.find("EADDRINUSE, message: address already in use"), std::string::npos);
    }
}

TEST(Quoted, EndsWithAWholeWord) {
    using results::analysis::shorten_text;
    EXPECT_EQ(shorten_text("reached the barrier of all ranks", 40), "reached the barrier of all ranks");
    EXPECT_EQ(shorten_text("reached the barrier of all ranks", 24), "reached the barrier …");
    EXPECT_EQ(shorten_text(std::string(50, 'x'), 20), std::string(16, 'x') + "…");
}

TEST(Quoted, BringsTheLastErrorOfALibrary) {
    EXPECT_EQ(
        results::analysis::quoted(
            "Traceback (most recent call last):\nDistBackendError: NCCL error in: NCCLUtils.cpp:94, invalid "
            "usage, NCCL version 2.28.9\nncclInvalidUsage: This usually reflects invalid usage.\nLast "
            "error:\nDuplicate GPU detected : rank 0 and rank 1 both on CUDA device 50000"),
        "DistBackendError: NCCL error in: NCCLUtils.cpp:94, invalid usage, NCCL version 2.28.9: Duplicate "
        "GPU detected : rank 0 and rank 1 both on CUDA device 50000");
}

}  // namespace
}  // namespace deadrank::tests
