// tests/sim/explore_order_test.cpp — Goal: exploring shows every legal order over seeds, each one replayable;
// off, there is one.
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <string>

#include "sim/engine/engine.h"
#include "sim/engine/stage.h"

namespace deadrank::sim {
namespace {

using namespace std::chrono_literals;

// Three actors woken together, then three handlers at one time: 3! orders each.
std::string order_of(Engine& engine, std::optional<Seed> seed) {
    std::string order;
    engine.reset({.explore_order = seed});
    for (ActorId id = 0; id < 3; ++id) {
        engine.spawn(id, [&engine, &order, id] {
            engine.block({.what = "start"});
            order += static_cast<char>('a' + id);
            engine.call_at(2us, {}, [&order, id] { order += static_cast<char>('x' + id); });
            engine.sleep_until(3us);
        });
    }
    engine.call_at(1us, {}, [&engine] {
        for (ActorId id = 0; id < 3; ++id) engine.wake(id);
    });
    EXPECT_EQ(engine.run().ending, Ending::completed);
    return order;
}

TEST(ExploreOrder, IsOffByDefault) {
    on_stage([](Engine& engine) {
        EXPECT_EQ(order_of(engine, {}), "abcxyz");
        EXPECT_EQ(order_of(engine, {}), "abcxyz");
    });
}

TEST(ExploreOrder, ShowsEveryLegalOrderAndNoOther) {
    on_stage([](Engine& engine) {
        std::set<std::string> woken;
        std::set<std::string> called;
        for (std::uint64_t seed = 0; seed < 200; ++seed) {
            const std::string order = order_of(engine, Seed{seed});
            ASSERT_EQ(order.size(), 6u);
            woken.insert(order.substr(0, 3));
            called.insert(order.substr(3));
        }
        EXPECT_EQ(woken, (std::set<std::string>{"abc", "acb", "bac", "bca", "cab", "cba"}));
        EXPECT_EQ(called, (std::set<std::string>{"xyz", "xzy", "yxz", "yzx", "zxy", "zyx"}));
    });
}

TEST(ExploreOrder, IsReplayable) {
    on_stage([](Engine& engine) {
        std::map<std::uint64_t, std::pair<std::string, std::uint64_t>> first;
        for (int pass = 0; pass < 2; ++pass) {
            for (std::uint64_t seed = 0; seed < 20; ++seed) {
                const std::string order = order_of(engine, Seed{seed});
                const auto run = std::pair(order, engine.trace().value());
                const auto known = first.emplace(seed, run).first;
                EXPECT_EQ(known->second, run) << "seed " << seed;
            }
        }
    });
}

// An actor was woken, and another event of the same moment waits: either may come first.
TEST(ExploreOrder, LetsAnEventOfTheSameMomentGoFirst) {
    on_stage([](Engine& engine) {
        std::set<std::string> seen;
        for (std::uint64_t seed = 0; seed < 64; ++seed) {
            std::string order;
            engine.reset({.explore_order = Seed{seed}});
            engine.spawn(0, [&] {
                engine.block({.what = "message"});
                order += 'r';
            });
            engine.spawn(1, [&] { engine.sleep(2us); });
            engine.call_at(1us, {}, [&] {
                order += 'w';
                engine.wake(0);
            });
            engine.call_at(1us, {}, [&] { order += 'e'; });
            engine.run();
            seen.insert(order);
        }
        EXPECT_EQ(seen, (std::set<std::string>{"wre", "wer", "ewr"}));
    });
}

}  // namespace
}  // namespace deadrank::sim
