// tests/sim/workloads/recording_test.cpp — Goal: reading gives what was written. A broken recording is
// refused, and the error names what is wrong. More ranks play a recording only if its ranks are replicas.
#include "sim/workloads/recording.h"

#include <chrono>
#include <gtest/gtest.h>

namespace deadrank::tests {
namespace {

using namespace std::chrono_literals;
using results::Dtype;
using results::Op;
using results::ReduceOp;
using sim::Lift;
using sim::Rank;
using sim::RecordedAction;
using sim::Recording;

using Ranks = std::vector<Rank>;

RecordedAction call(Op op, std::int32_t group, std::int64_t count, std::int32_t root = -1) {
    return {.kind = RecordedAction::Kind::call,
            .op = op,
            .dtype = Dtype::f32,
            .reduce = ReduceOp::sum,
            .group = group,
            .member = root,
            .count = count,
            .before = 2ms};
}

RecordedAction wait(std::int64_t back) { return {.kind = RecordedAction::Kind::wait, .back = back}; }

// Two replicas of a pair: ranks 0 and 1, 2 and 3 share a model; 0 and 2, 1 and 3 average their gradients.
Recording pairs() {
    Recording recording{
        .groups = {{"world", {0, 1, 2, 3}}, {"tp", {0, 1}}, {"tp", {2, 3}}, {"dp", {0, 2}}, {"dp", {1, 3}}}};
    for (Rank rank = 0; rank < 4; ++rank) {
        sim::RecordedRank& done = recording.ranks.emplace_back();
        done.start.actions = {call(Op::broadcast, 0, 10, 0), wait(0)};
        done.steps.push_back({.before = 1ms,
                              .actions = {call(Op::all_reduce, rank < 2 ? 1 : 2, 64),
                                          call(Op::all_gather, rank % 2 == 0 ? 3 : 4, 100), wait(1), wait(0)},
                              .after = 3ms,
                              .loss = 0.5});
    }
    return recording;
}

TEST(Recording, IsReadAsItWasWritten) {
    const Recording recording = pairs();
    const auto read = sim::read_recording(sim::recording_text(recording));
    ASSERT_TRUE(read) << read.error().text();
    EXPECT_EQ(read->groups, recording.groups);
    ASSERT_EQ(read->size(), 4);
    ASSERT_EQ(read->steps(), 1);
    for (std::size_t rank = 0; rank < 4; ++rank) {
        EXPECT_EQ(read->ranks[rank].start.actions, recording.ranks[rank].start.actions);
        EXPECT_EQ(read->ranks[rank].steps[0].actions, recording.ranks[rank].steps[0].actions);
        EXPECT_EQ(read->ranks[rank].steps[0].before, 1ms);
        EXPECT_EQ(read->ranks[rank].steps[0].after, 3ms);
        EXPECT_EQ(read->ranks[rank].steps[0].loss, 0.5);
    }
}

TEST(Recording, IsRefusedWithWhatIsWrong) {
    const std::string good = sim::recording_text(pairs());
    const auto with = [&](const std::string& from, const std::string& to) {
        std::string text = good;
        const auto at = text.find(from);
        EXPECT_NE(at, std::string::npos) << from;
        const auto read = sim::read_recording(text.replace(at, from.size(), to));
        return read ? std::string("read") : read.error().what;
    };
    EXPECT_NE(with("\"recording\": 1", "\"recording\": 2").find("format 1"), std::string::npos);
    EXPECT_NE(with("[\"wait\",0]", "[\"wait\",1]").find("waits for a call"), std::string::npos);
    EXPECT_NE(with("\"all_gather\"", "\"all_give\"").find("no call 'all_give'"), std::string::npos);
    EXPECT_NE(with("[\"all_reduce\",1", "[\"all_reduce\",2").find("no member"), std::string::npos);
    EXPECT_NE(with("[\"all_reduce\",1", "[\"all_reduce\",9").find("0 to 4"), std::string::npos);
    EXPECT_NE(with("\"tp\",[0,1]", "\"tp\",[0,0]").find("twice"), std::string::npos);
    EXPECT_NE(with("2000000", "-1").find("a time"), std::string::npos);
    EXPECT_NE(with("}", "").find("no JSON"), std::string::npos);
    EXPECT_FALSE(sim::read_recording(""));
    EXPECT_FALSE(sim::read_recording("[]"));
}

TEST(Recording, IsPlayedByMoreReplicas) {
    const Recording recording = pairs();
    const auto lift = Lift::make(recording, 8);
    ASSERT_TRUE(lift) << lift.error().text();
    EXPECT_EQ(lift->block(), 2);
    EXPECT_EQ(lift->source(5), 1);
    EXPECT_EQ(lift->source(6), 2);
    EXPECT_EQ(lift->members(0, 5), (Ranks{0, 1, 2, 3, 4, 5, 6, 7}));
    EXPECT_EQ(lift->members(1, 5), (Ranks{4, 5}));  // as ranks 0 and 1
    EXPECT_EQ(lift->members(2, 5), Ranks());
    EXPECT_EQ(lift->members(4, 5), (Ranks{1, 3, 5, 7}));
    EXPECT_EQ(lift->members(3, 5), Ranks());
    EXPECT_EQ(lift->place(0, 3, false, 5), 3);  // a root is the same rank for all
    EXPECT_EQ(lift->place(0, 0, true, 5), 4);   // a message stays among neighbours
    // What two members shared, four share: each has half of it.
    EXPECT_EQ(lift->count(recording.ranks[0].steps[0].actions[1]), 50);
    EXPECT_EQ(lift->count(recording.ranks[0].steps[0].actions[0]), 64);
}

TEST(Recording, IsNotPlayedByPartsOfReplicas) {
    const Recording recording = pairs();
    EXPECT_TRUE(Lift::make(recording, 4));
    EXPECT_TRUE(Lift::make(recording, 2));
    const auto odd = Lift::make(recording, 5);
    ASSERT_FALSE(odd);
    EXPECT_NE(odd.error().what.find("2 replicas of 2 ranks"), std::string::npos) << odd.error().what;

    Recording one = recording;  // a group that lies in no way in which replicas do
    one.groups.push_back({"odd", {0, 3}});
    EXPECT_TRUE(Lift::make(one, 4));
    const auto lifted = Lift::make(one, 8);
    ASSERT_FALSE(lifted);
    EXPECT_NE(lifted.error().what.find("no replicas"), std::string::npos) << lifted.error().what;
}

// Rank 1 sends to rank 2, which is of the other replica: with more replicas nobody knows whom they would send
// to.
TEST(Recording, IsNotPlayedByMoreReplicasThatSendToEachOther) {
    Recording recording = pairs();
    RecordedAction message = call(Op::send, 0, 10, 2);
    message.kind = RecordedAction::Kind::message;
    recording.ranks[1].steps[0].actions.push_back(message);
    EXPECT_TRUE(Lift::make(recording, 4));
    EXPECT_FALSE(Lift::make(recording, 8));
}

}  // namespace
}  // namespace deadrank::tests
