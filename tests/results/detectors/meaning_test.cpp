// tests/results/detectors/meaning_test.cpp — Goal: what a rank's words mean depends on what it had done and
// said before, and on what the launcher gave it: a driver's answer, a lost store, a wrong address.
#include "tests/results/detectors/run_detector.h"

namespace deadrank::tests {
namespace {

// Rank 1 says so before it has a communicator, or behind it.
std::string told_by(const std::string& words, bool set_up, const std::string& before = "") {
    EvidenceBuilder job(2);
    job.start();
    if (set_up) job.world();
    if (!before.empty()) job.log(1, before, 0);
    job.after(10ms).log(1, words);
    const Evidence evidence = job.watched();
    std::string all;
    for (const std::string_view name :
         {"setup_failure", "runtime_exception", "device_fault", "tensor_shape", "native_crash"}) {
        for (const Finding& finding : asked(name, evidence)) all += finding.symptom + " ";
    }
    return all;
}

TEST(DriversAnswer, IsOfSetUpOrOfTheProgramBehindIt) {
    for (const std::string words : {"torch.AcceleratorError: CUDA error: invalid device ordinal",
                                    "ncclUnhandledCudaError: Cuda failure 'invalid resource handle'",
                                    "RuntimeError: CUDA error: invalid argument",
                                    "ncclUnhandledCudaError: Cuda failure 'operation not supported'"}) {
        EXPECT_EQ(told_by(words, false), "communication_setup_failure ") << words;
        EXPECT_EQ(told_by(words, true), "framework_runtime_exception ") << words;
    }
}

TEST(DriversAnswer, IsTheDevicesWhereTheHardwareFails) {
    for (const std::string words : {"ncclUnhandledCudaError: Cuda failure 'unspecified launch failure'",
                                    "RuntimeError: CUDA error: uncorrectable ECC error encountered",
                                    "ncclUnhandledCudaError: Cuda failure 'unknown error'"}) {
        EXPECT_EQ(told_by(words, false), "device_fault_reported ") << words;
        EXPECT_EQ(told_by(words, true), "device_fault_reported ") << words;
    }
}

TEST(DeviceSideAssert, IsARefusedIndexWhereTheKernelSaysSo) {
    const std::string words = "RuntimeError: CUDA error: device-side assert triggered";
    EXPECT_EQ(told_by(words, true), "native_crash_or_illegal_access ");
    EXPECT_EQ(
        told_by(words, true, "block: [0,0,0], thread: [3,0,0] Assertion `t >= 0 && t < n_classes` failed."),
        "tensor_shape_or_dtype_error ");
    EXPECT_EQ(told_by(words, true, "block: [0,0,0], thread: [3,0,0] Assertion `rate < 1` failed."),
              "native_crash_or_illegal_access ");
}

const std::string lost_store =
    "Traceback (most recent call last):\ntorch.distributed.DistNetworkError: Failed to recv, got 0 bytes. "
    "Connection was likely closed.";

TEST(StoreOfALeaver, IsTheFaultOfItsHost) {
    const auto leaves = [](Rank leaver) {
        EvidenceBuilder job(4);
        job.start();
        job.add(leaver, StepBegin{0}).add(leaver, StepEnd{0, 1, 1}).exits(leaver, 0);
        for (const Rank rank : job.everybody_but(leaver)) job.log(rank, lost_store);
        return found_by("setup_failure", job.watched());
    };
    const Finding found = leaves(0);
    EXPECT_EQ(found.blame.ranks, ranks({0}));
    EXPECT_EQ(found.blame.component, "store");
    EXPECT_THAT(found.says, testing::HasSubstr("rank 0, which keeps the store, had ended before"));
    EXPECT_NE(leaves(2).blame.component, "store");  // rank 0 is there
}

// All ranks seek the store at `host`; `first` is whether rank 0 finds it no more than the others.
Finding seek_at(const std::string& host, bool first, const std::string& given) {
    EvidenceBuilder job(2);
    for (const Rank rank : job.everybody())
        job.start(rank, fmt::format("RANK={}\nWORLD_SIZE=2\nMASTER_ADDR={}\nMASTER_PORT=29500", rank, given));
    for (const Rank rank : job.everybody())
        job.add(rank, RendezvousEnter{rank, 2, job.text(host + ":29500")});
    job.after(60s);
    for (const Rank rank : job.everybody())
        if (rank != 0 || first)
            job.log(rank, fmt::format("DistNetworkError: The client socket has timed out after 60000ms while "
                                      "trying to connect to ({}, 29500).",
                                      host));
    return found_by("setup_failure", job.watched());
}

TEST(SetupVariable, IsTheAddressWhereNoRankRuns) {
    const Finding found = seek_at("login1", true, "login1");
    EXPECT_EQ(found.blame.variable, "MASTER_ADDR");
    EXPECT_THAT(found.says, testing::HasSubstr("no rank runs on login1"));
    const Finding joined = seek_at("node0,node1", true, "node0,node1");  // two hosts that were put together
    EXPECT_EQ(joined.blame.variable, "MASTER_ADDR");
    EXPECT_EQ(joined.blame.ranks, ranks({0, 1}));
    EXPECT_EQ(seek_at("login1", false, "login1").blame.variable, "");  // another name of rank 0's host
    EXPECT_EQ(seek_at("login1", true, "node0").blame.variable, "");    // the program's own address
}

}  // namespace
}  // namespace deadrank::tests
