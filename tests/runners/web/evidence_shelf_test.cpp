// Goal: evidence is read once, however many ask for it, and a file that is being read delays nobody who asks
// for another.
#include "runners/web/evidence_shelf.h"

#include <atomic>
#include <fmt/format.h>
#include <future>
#include <gtest/gtest.h>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/results/evidence_builder.h"

namespace deadrank::tests {
namespace {

using runners::web::EvidenceShelf;
using namespace std::chrono_literals;

results::Evidence eight_that_wait_for_rank_3() {
    EvidenceBuilder job(8);
    job.start().world().step(0);
    for (const Rank rank : job.everybody_but(3)) job.enters(rank, 1, 2);
    return job.watched(100s);
}

TEST(EvidenceShelf, ReadsAFileOnceHoweverManyAsk) {
    std::atomic<int> reads = 0;
    EvidenceShelf shelf([&](const std::filesystem::path&) {
        ++reads;
        return eight_that_wait_for_rank_3();
    });
    shelf.read_ahead({"a", "b"}, {});
    std::vector<std::thread> browsers;
    for (int i = 0; i < 8; ++i) {
        browsers.emplace_back([&, i] {
            const auto waits = shelf.waits(i % 2 == 0 ? "a" : "b", 90s);
            EXPECT_EQ(waits.value()["groups"].size(), 2u);
        });
    }
    for (auto& browser : browsers) browser.join();
    EXPECT_EQ(reads, 2);
}

TEST(EvidenceShelf, DelaysNobodyWhoAsksForAnotherFile) {
    std::promise<void> begun, released;
    EvidenceShelf shelf([&](const std::filesystem::path& file) {
        if (file == "large") {
            begun.set_value();
            released.get_future().wait();
        }
        return eight_that_wait_for_rank_3();
    });
    shelf.read_ahead({"large"}, {});
    begun.get_future().wait();
    auto other = std::async(std::launch::async, [&] { return shelf.waits("small", 90s).has_value(); });
    const bool answered = other.wait_for(20s) == std::future_status::ready;
    released.set_value();
    EXPECT_TRUE(answered);
    EXPECT_TRUE(other.get());
}

TEST(EvidenceShelf, KeepsTheLastFilesAndReadsOlderOnesAgain) {
    std::map<std::string, int> reads;
    EvidenceShelf shelf([&](const std::filesystem::path& file) {
        ++reads[file.string()];
        return eight_that_wait_for_rank_3();
    });
    for (int i = 0; i < 7; ++i) ASSERT_TRUE(shelf.waits(fmt::format("{}", i), 1s));
    ASSERT_TRUE(shelf.waits("6", 1s));
    ASSERT_TRUE(shelf.waits("0", 1s));
    EXPECT_EQ(reads["6"], 1);
    EXPECT_EQ(reads["0"], 2);
}

}  // namespace
}  // namespace deadrank::tests
