// tests/sim/files_test.cpp — Checkpoint storage: whole, torn, lost, stale, swapped, flipped, full and slow.
#include "sim/machine/files.h"

#include <gmock/gmock.h>

#include "tests/sim/cluster_harness.h"

namespace deadrank::sim {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using Numbers = std::vector<Number>;

struct Seen {
    Code written = Code::ok;
    Code read = Code::ok;
    Numbers content;
    Time took{0};
};

// One rank writes a file twice, syncs it, and reads it back.
Seen write_and_read(const std::vector<StorageChange>& changes) {
    Seen seen;
    play(
        bare(1, 1),
        [&](World& world) {
            Storage& storage = world.storage();
            storage.write("a/other", Numbers{9, 9, 9, 9});
            storage.write("a/state", Numbers{1, 1, 1, 1});
            const Time before = world.timer().now();
            seen.written = storage.write("a/state", Numbers{1, 2, 3, 4});
            storage.sync("a/state");
            seen.read = storage.read("a/state", seen.content);
            seen.took = world.timer().now() - before;
        },
        [&](Cluster& cluster) {
            // After the first version of the file, before the second.
            cluster.at(2500us, [&] {
                for (const StorageChange& change : changes) cluster.change_storage(change);
            });
        });
    return seen;
}

TEST(Storage, KeepsWhatWasWritten) { EXPECT_THAT(write_and_read({}).content, ElementsAre(1, 2, 3, 4)); }

TEST(Storage, TearsOneWrite) {
    EXPECT_THAT(write_and_read({{"state", StorageTrouble::tear, 3}}).content, ElementsAre(1, 2, 3));
    EXPECT_THAT(write_and_read({{"state", StorageTrouble::tear, 0}}).content, ElementsAre(1, 2)) << "half";
}

TEST(Storage, LosesOneWriteAndSaysNothing) {
    const Seen seen = write_and_read({{"state", StorageTrouble::lose, 0}});
    EXPECT_EQ(seen.written, Code::ok);
    EXPECT_THAT(seen.content, ElementsAre(1, 1, 1, 1));
}

TEST(Storage, ShowsAnOldVersionWhileStale) {
    const StorageChange stale{"state", StorageTrouble::stale, 0};
    EXPECT_THAT(write_and_read({stale}).content, ElementsAre(1, 1, 1, 1));
    EXPECT_THAT(write_and_read({stale, {"state", StorageTrouble::stale, 0, true}}).content,
                ElementsAre(1, 2, 3, 4));
}

TEST(Storage, FlipsABitOfAFileThatIsThereOrOfTheNext) {
    EXPECT_THAT(write_and_read({{"state", StorageTrouble::flip, 64 + 3}}).content, ElementsAre(1, 2, 3, 4))
        << "the flipped version was written over";
    Numbers content;
    play(
        bare(1, 1),
        [&](World& world) {
            world.storage().write("later", Numbers{1, 2});
            world.storage().read("later", content);
        },
        [](Cluster& cluster) {
            cluster.change_storage({"later", StorageTrouble::flip, 64 + 3});
        });
    EXPECT_THAT(content, ElementsAre(1, 10));
}

TEST(Storage, RefusesWhenFullOrReadOnly) {
    EXPECT_EQ(write_and_read({{"", StorageTrouble::full, 3}}).written, Code::no_space);
    EXPECT_EQ(write_and_read({{"", StorageTrouble::full, 4}}).written, Code::ok);
    EXPECT_EQ(write_and_read({{"", StorageTrouble::read_only, 0}}).written, Code::system_error);
}

TEST(Storage, TakesItsTimeWhenSlow) {
    const Time usual = write_and_read({}).took;
    const Time slow = write_and_read({{"", StorageTrouble::slow, 10'000}}).took;
    EXPECT_GT(slow, 6 * usual);
}

TEST(Storage, SwapsTruncatesAndRemovesFilesThatAreThere) {
    Numbers state, other, cut;
    Code removed = Code::ok;
    play(
        bare(1, 1),
        [&](World& world) {
            Storage& storage = world.storage();
            storage.write("a/other", Numbers{9});
            storage.write("a/state", Numbers{1, 2, 3});
            storage.write("b", Numbers{1, 2, 3});
            storage.write("c", Numbers{1});
            world.timer().sleep(1s);
            storage.read("a/other", other);
            storage.read("a/state", state);
            storage.read("b", cut);
            Numbers nothing;
            removed = storage.read("c", nothing);
        },
        [](Cluster& cluster) {
            cluster.at(500ms, [&] {
                cluster.change_storage({"a/", StorageTrouble::swap, 0});
                cluster.change_storage({"b", StorageTrouble::truncate, 1});
                cluster.change_storage({"c", StorageTrouble::remove, 0});
            });
        });
    EXPECT_THAT(other, ElementsAre(1, 2, 3));
    EXPECT_THAT(state, ElementsAre(9));
    EXPECT_THAT(cut, ElementsAre(1));
    EXPECT_EQ(removed, Code::not_found);
}

TEST(Storage, RenamesAtOnceAndLists) {
    std::vector<std::string> names;
    Numbers content;
    play(bare(1, 1), [&](World& world) {
        Storage& storage = world.storage();
        storage.write("a/x.tmp", Numbers{5});
        storage.rename("a/x.tmp", "a/x");
        storage.write("b", Numbers{6});
        storage.remove("b");
        names = storage.list("a/");
        storage.read("a/x", content);
    });
    EXPECT_THAT(names, ElementsAre("a/x"));
    EXPECT_THAT(content, ElementsAre(5));
}

TEST(Storage, WhatWasNotSyncedIsGoneWithItsNode) {
    Numbers safe{0}, lost{0};
    play(
        bare(2, 1),
        [&](World& world) {
            if (world.node() == 1) {
                world.storage().write("safe", Numbers{1});
                world.storage().sync("safe");
                world.storage().write("lost", Numbers{1});
            }
            world.timer().sleep(1s);
            if (world.node() == 1) return;
            world.storage().read("safe", safe);
            world.storage().read("lost", lost);
        },
        [](Cluster& cluster) {
            HostChange down;
            down.down = true;
            cluster.at(500ms, [&, down] { cluster.change_host(1, down); });
        });
    EXPECT_THAT(safe, ElementsAre(1));
    EXPECT_THAT(lost, IsEmpty());
}

TEST(Storage, LosesADescriptorForEachFileLeftOpen) {
    std::vector<Code> answers;
    HostChange few;
    few.open_files_limit = 2;
    play(
        bare(1, 1),
        [&](World& world) {
            for (int i = 0; i < 3; ++i) answers.push_back(world.storage().leave_open("a/state"));
        },
        [&](Cluster& cluster) { cluster.change_host(0, few); });
    EXPECT_THAT(answers, ElementsAre(Code::ok, Code::ok, Code::system_error));
}

}  // namespace
}  // namespace deadrank::sim
