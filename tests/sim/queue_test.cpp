// tests/sim/queue_test.cpp — Goal: heap, wheel and the automatic choice give one order, that of (time, tie,
// sequence).
#include "sim/engine/queue.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <vector>

#include "sim/engine/rng.h"

namespace deadrank::sim {
namespace {

// How far ahead events are pushed: what makes a wheel's life hard is a mix of scales.
struct Mix {
    const char* name;
    std::int64_t near;
    std::int64_t far;  // one event in ten
    std::size_t in_flight;
};

class EveryMix : public ::testing::TestWithParam<Mix> {};

// Pushes and pops like a simulation does: never into the past, often at the present time.
std::vector<QueuedEvent> play_mix(QueueKind kind, const Mix& mix, std::uint64_t seed) {
    const Chance chance(Seed{seed}, Entity{}, "events");
    EventQueue queue(kind);
    std::vector<QueuedEvent> order;
    std::uint64_t pushed = 0;
    std::int64_t now = 0;
    while (pushed < 20'000 || !queue.empty()) {
        while (pushed < 20'000 && queue.size() < mix.in_flight) {
            const bool is_far = chance.ratio(3 * pushed, 1, 10);
            const std::int64_t ahead = chance.between(3 * pushed + 1, 0, is_far ? mix.far : mix.near);
            queue.push({now + ahead, pushed, static_cast<std::uint32_t>(pushed), 0});
            ++pushed;
        }
        const QueuedEvent event = queue.pop();
        now = event.time;
        order.push_back(event);
    }
    return order;
}

bool same(const std::vector<QueuedEvent>& one, const std::vector<QueuedEvent>& other) {
    return std::equal(one.begin(), one.end(), other.begin(), other.end(), [](const auto& a, const auto& b) {
        return a.time == b.time && a.order == b.order && a.target == b.target;
    });
}

TEST_P(EveryMix, ComesOutOfAllQueuesInOneOrder) {
    for (std::uint64_t seed = 0; seed < 3; ++seed) {
        const std::vector<QueuedEvent> heap = play_mix(QueueKind::heap, GetParam(), seed);
        EXPECT_EQ(heap.size(), 20'000u);
        EXPECT_TRUE(same(heap, play_mix(QueueKind::wheel, GetParam(), seed))) << "seed " << seed;
        EXPECT_TRUE(same(heap, play_mix(QueueKind::automatic, GetParam(), seed))) << "seed " << seed;
    }
}

INSTANTIATE_TEST_SUITE_P(Queues, EveryMix,
                         ::testing::Values(Mix{"AllAtOnce", 0, 0, 5'000},
                                           Mix{"Microseconds", 2'000, 5'000, 3'000},
                                           Mix{"TimeOutsOfMinutes", 2'000, 600'000'000'000, 3'000},
                                           Mix{"Seconds", 1'000'000'000, 2'000'000'000, 10'000},
                                           Mix{"Sparse", 1'000'000, 900'000'000'000, 3},
                                           Mix{"AlwaysPastTheHorizon", 70'000, 140'000, 500}),
                         [](const auto& mix) { return mix.param.name; });

TEST(EventQueue, BreaksTiesByOrder) {
    for (QueueKind kind : {QueueKind::heap, QueueKind::wheel}) {
        EventQueue queue(kind);
        for (std::uint64_t order : {5u, 1u, 4u, 0u, 3u, 2u}) queue.push({100, order, 0, 0});
        for (std::uint64_t expected = 0; expected < 6; ++expected) EXPECT_EQ(queue.pop().order, expected);
        EXPECT_TRUE(queue.empty());
    }
}

// A time limit peeks by taking an event and putting it back; the next push may then be earlier than the
// wheel's bucket.
TEST(EventQueue, TakesAnEventBackAndThenAnEarlierOne) {
    for (QueueKind kind : {QueueKind::heap, QueueKind::wheel}) {
        EventQueue queue(kind);
        queue.push({90'000'000, 0, 0, 0});
        queue.push(queue.pop());
        queue.push({50, 1, 0, 0});
        queue.push({70'000, 2, 0, 0});
        EXPECT_EQ(queue.pop().time, 50);
        EXPECT_EQ(queue.pop().time, 70'000);
        EXPECT_EQ(queue.pop().time, 90'000'000);
    }
}

TEST(EventQueue, DropsWhatIsGoneAndKeepsTheOrderOfTheRest) {
    for (QueueKind kind : {QueueKind::heap, QueueKind::wheel}) {
        const Chance chance(Seed{3}, Entity{}, "times");
        EventQueue queue(kind);
        for (std::uint32_t i = 0; i < 3'000; ++i) queue.push({chance.between(i, 0, 200'000), i, i, 0});
        for (int i = 0; i < 100; ++i) queue.pop();  // leaves a bucket half taken
        queue.remove_if([](const QueuedEvent& event) { return event.target % 3 != 0; });
        QueuedEvent last = queue.pop();
        std::size_t count = 1;
        while (!queue.empty()) {
            const QueuedEvent event = queue.pop();
            EXPECT_TRUE(last.before(event));
            EXPECT_EQ(event.target % 3, 0u);
            last = event;
            ++count;
        }
        EXPECT_GT(count, 900u);
        EXPECT_LE(count, 1'000u);
    }
}

TEST(EventQueue, TurnsToTheWheelUnderLoadAndBackOnReset) {
    EventQueue queue;
    for (std::uint64_t i = 0; i < 100'000; ++i)
        queue.push({static_cast<std::int64_t>(i * 37 % 5'000), i, 0, 0});
    EXPECT_TRUE(queue.on_wheel());
    queue.reset(QueueKind::automatic);
    EXPECT_TRUE(queue.empty());
    EXPECT_FALSE(queue.on_wheel());
    queue.push({3, 0, 0, 0});
    EXPECT_EQ(queue.pop().time, 3);
}

}  // namespace
}  // namespace deadrank::sim
