// tests/results/detectors/placement_test.cpp — Goal: ranks that share devices on purpose are not taken for
// ranks that landed on the wrong one; of contexts on several devices each is told.
#include "tests/results/detectors/run_detector.h"

namespace deadrank::tests {
namespace {

// Devices by rank, on hosts of so many devices and ranks.
EvidenceBuilder on_shared_devices(std::int32_t devices_on_host, const std::vector<std::int32_t>& devices,
                                  Rank hosts = 1) {
    const auto per_host = static_cast<Rank>(std::ssize(devices)) / hosts;
    EvidenceBuilder job(static_cast<Rank>(devices.size()), devices_on_host);
    for (std::size_t rank = 0; rank < devices.size(); ++rank) {
        job.add(static_cast<Rank>(rank), RankStart{.pid = 1000, .node = static_cast<Rank>(rank) / per_host});
        job.add(static_cast<Rank>(rank), DeviceBind{job.text("model"), devices[rank]});
    }
    return job;
}

TEST(SharedDevice, IsNotWrongWhereAllRanksShareAlike) {
    expect_silence_of("wrong_device", on_shared_devices(3, {1, 1}).watched());
    expect_silence_of("wrong_device", on_shared_devices(4, {2, 2, 3, 3, 2, 2, 3, 3}, 2).watched());
}

TEST(SharedDevice, IsWrongWhereTheFirstIsLeftToAllOrOneHostDealsThemOutOtherwise) {
    EXPECT_EQ(found_by("wrong_device", on_shared_devices(4, {0, 0}).watched()).blame.ranks, ranks({1}));
    EXPECT_EQ(found_by("wrong_device", on_shared_devices(4, {0, 1, 2, 2}).watched()).blame.ranks, ranks({3}));
    EXPECT_FALSE(asked("wrong_device", on_shared_devices(4, {0, 1, 1, 1}, 2).watched()).empty());
}

// A launcher that lists a device for each rank wants none of them shared.
TEST(SharedDevice, IsWrongWhereEachRankWasGivenOne) {
    const auto listed = [](const std::string& devices) {
        EvidenceBuilder job(2, 4);
        for (const Rank rank : job.everybody()) {
            job.start(rank, job.environment(rank, "CUDA_VISIBLE_DEVICES=" + devices));
            job.add(rank, DeviceBind{job.text("model"), 2});
        }
        return asked("wrong_device", job.watched());
    };
    EXPECT_TRUE(listed("2").empty());
    ASSERT_EQ(listed("1,2").size(), 1u);
}

// Rank 0 is where its LOCAL_RANK says, and rank 1 is not.
TEST(DeviceTakenTwice, IsTheFaultOfWhoDoesNotBelongThere) {
    const auto blamed = [](std::int32_t of_the_other, const std::string& more) {
        EvidenceBuilder job(2);
        for (const Rank rank : job.everybody()) {
            job.start(rank, job.environment(rank, more));
            if (rank == 0 || of_the_other >= 0)
                job.add(rank, DeviceBind{job.text("model"), rank == 0 ? 0 : of_the_other});
        }
        for (const Rank rank : job.everybody()) job.rendezvous(rank, rank, 2);
        for (const Rank rank : job.everybody()) job.joins(rank, 1, "world", {0, 1}, rank);
        const TextId words = job.text("Duplicate GPU detected : rank 0 and rank 1 both on CUDA device 50000");
        for (const Rank rank : job.everybody()) job.add(rank, CommError{1, Code::invalid_usage, words});
        return found_by("setup_failure", job.watched()).blame.ranks;
    };
    EXPECT_EQ(blamed(0, ""), ranks({1}));
    EXPECT_EQ(blamed(1, ""), ranks({0, 1}));   // both where they belong: the devices are one
    EXPECT_EQ(blamed(-1, ""), ranks({0, 1}));  // nobody knows of rank 1
    EXPECT_EQ(blamed(0, "CUDA_VISIBLE_DEVICES=1"), ranks({0, 1}));
}

// The library stops at the first pair, and says nothing of the others.
TEST(DeviceTakenTwice, IsTheFaultOfAllWhoShareItButItsOwner) {
    const auto blamed = [](bool local_ranks, std::int32_t of_the_last, const std::string& more = "") {
        EvidenceBuilder job(4);
        for (const Rank rank : job.everybody()) {
            std::string environment = job.environment(rank, more);
            if (!local_ranks) environment.replace(environment.find("LOCAL_RANK=") + 11, 1, "0");
            job.start(rank, environment).add(rank, DeviceBind{job.text("model"), rank < 3 ? 0 : of_the_last});
        }
        for (const Rank rank : job.everybody()) job.rendezvous(rank, rank, 4);
        const TextId words = job.text("Duplicate GPU detected : rank 0 and rank 1 both on CUDA device 50000");
        for (const Rank rank : job.everybody()) job.add(rank, CommError{1, Code::invalid_usage, words});
        return found_by("setup_failure", job.watched()).blame.ranks;
    };
    EXPECT_EQ(blamed(true, 0), ranks({1, 2, 3}));
    EXPECT_EQ(blamed(true, 3), ranks({1, 2}));
    EXPECT_EQ(blamed(false, 0), ranks({1, 2, 3}));  // by their places on the host
    EXPECT_EQ(blamed(true, 0, "CUDA_VISIBLE_DEVICES=2"), ranks({0, 1, 2, 3}));
}

TEST(StrangersOnDevices, AreToldWithEachDevice) {
    const auto put = [](std::int32_t second) {
        EvidenceBuilder job = on_shared_devices(4, {0, 1, 2, 3});
        job.add(2, DeviceBind{job.text("context"), 0}).add(3, DeviceBind{job.text("context"), second});
        return found_by("unbalanced_memory", job.watched()).says;
    };
    EXPECT_EQ(put(0), "ranks 2,3 put a context on device 0 of another rank");
    EXPECT_EQ(put(1), "ranks 2,3 put contexts on devices 0,1 of other ranks");
}

// Device 0 is rank 0's. Ranks 1 to 3 have opened contexts there, and `failing` find no room.
Finding full_by_others(const std::vector<Rank>& failing) {
    EvidenceBuilder job(4);
    job.start().world();
    for (const Rank rank : {1, 2, 3}) job.add(rank, DeviceBind{job.text("context"), 0});
    for (const Rank rank : failing) {
        job.add(rank, MemoryOom{4096, 1024, job.text("device")});
        job.log(rank, "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 4.00 KiB.");
    }
    for (const Rank rank : failing) job.exits(rank, 1, 0);
    return found_by("device_memory", job.watched());
}

TEST(DeviceMemory, IsTheFaultOfAllWhoCameToTheDeviceOfAnother) {
    const Finding found = full_by_others({2, 3});
    EXPECT_EQ(found.blame.ranks, ranks({1, 2, 3}));
    EXPECT_THAT(found.says, testing::HasSubstr("ranks 1-3 had opened contexts on this device"));
    EXPECT_EQ(full_by_others({0}).blame.ranks, ranks({0}));  // who fails at home may have asked for too much
}

}  // namespace
}  // namespace deadrank::tests
