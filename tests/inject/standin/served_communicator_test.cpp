// tests/inject/standin/served_communicator_test.cpp — Goal: a call is finished when everybody has enqueued
// the matching one, never when they do not match, and what is told to whom follows from what was brought.
#include "inject/standin/exchange/served_communicator.h"

#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>

namespace deadrank::inject::standin {
namespace {

using results::Op;

struct Told {
    int member;
    Kind kind;
    std::string said, bytes;
    bool operator==(const Told&) const = default;
};

class RoomOfThree : public testing::Test {
protected:
    std::vector<Told> told;
    ServedCommunicator communicator{
        "communicator", 3, 0,
        [this](int member, Kind kind, const std::string& said, const std::string& bytes) {
            told.push_back({member, kind, said, bytes});
        }};

    Hello hello(int rank, int device = -1) {
        Hello one;
        one.rank = rank;
        one.size = 3;
        one.version = 22809;
        one.device = device < 0 ? rank : device;
        one.host = 7;
        return one;
    }
    void all_enter() {
        for (const int rank : {0, 1, 2}) ASSERT_TRUE(communicator.enter(hello(rank)));
        told.clear();
    }
    static Call call(Op op, std::uint64_t count, std::uint64_t sequence = 1) {
        Call one;
        one.op = op;
        one.count = count;
        one.sequence = sequence;
        one.element = Element::f32;
        return one;
    }
    static std::string floats(std::vector<float> values) {
        return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
    }
    std::string heard(int member) const {
        const auto found =
            std::find_if(told.begin(), told.end(), [&](const Told& one) { return one.member == member; });
        return found == told.end() ? "nothing" : found->bytes;
    }
};

TEST_F(RoomOfThree, OpensWhenTheLastHasCome) {
    EXPECT_TRUE(communicator.enter(hello(0)));
    EXPECT_TRUE(communicator.enter(hello(2)));
    EXPECT_TRUE(told.empty());
    EXPECT_TRUE(communicator.enter(hello(1)));
    ASSERT_EQ(told.size(), 3u);
    for (const Told& one : told) EXPECT_EQ(one.kind, Kind::joined);
}

TEST_F(RoomOfThree, LetsNobodyInTwiceNorWithAnotherSize) {
    EXPECT_TRUE(communicator.enter(hello(0)));
    EXPECT_FALSE(communicator.enter(hello(0)));
    Hello other = hello(1);
    other.size = 2;
    EXPECT_FALSE(communicator.enter(other));
    EXPECT_TRUE(told.empty());
}

TEST_F(RoomOfThree, RefusesTwoVersionsAndOneDeviceTwice) {
    Hello older = hello(1);
    older.version = 22803;
    EXPECT_TRUE(communicator.enter(hello(0)) && communicator.enter(older) && communicator.enter(hello(2)));
    EXPECT_EQ(heard(0), "Mismatched NCCL version detected : rank 1 version 22803 rank 0 version 22809");
    told.clear();
    ServedCommunicator second(
        "other", 3, 0, [this](int member, Kind kind, const std::string& said, const std::string& bytes) {
            told.push_back({member, kind, said, bytes});
        });
    EXPECT_TRUE(second.enter(hello(0)) && second.enter(hello(1, 0)) && second.enter(hello(2)));
    EXPECT_EQ(heard(2), "Duplicate GPU detected : rank 0 and rank 1 both on CUDA device 10");
}

TEST_F(RoomOfThree, SumsWhenTheLastHasCalled) {
    all_enter();
    communicator.call(0, call(Op::all_reduce, 2), floats({1, 2}));
    communicator.call(2, call(Op::all_reduce, 2), floats({10, 20}));
    EXPECT_TRUE(told.empty());
    communicator.call(1, call(Op::all_reduce, 2), floats({100, 200}));
    for (const int member : {0, 1, 2}) EXPECT_EQ(heard(member), floats({111, 222}));
}

TEST_F(RoomOfThree, NeverFinishesWhatDoesNotMatch) {
    all_enter();
    const Call root_one = [] {
        Call one = call(Op::broadcast, 2, 4);
        one.peer = 1;
        return one;
    }();
    Call root_two = root_one, stuck = call(Op::all_reduce, 2, 5);
    root_two.peer = 2;
    stuck.stuck = true;
    const std::vector<std::pair<Call, Call>> pairs{{call(Op::all_reduce, 2, 1), call(Op::all_reduce, 1, 1)},
                                                   {call(Op::all_reduce, 2, 2), call(Op::all_gather, 2, 2)},
                                                   {root_one, root_two},
                                                   {call(Op::all_reduce, 2, 5), stuck}};
    for (const auto& [usual, other] : pairs) {
        communicator.call(0, usual, floats({1, 2}));
        communicator.call(1, other, floats({1, 2}));
        communicator.call(2, usual, floats({1, 2}));
        EXPECT_TRUE(told.empty()) << results::name_of(usual.op) << " " << usual.sequence;
    }
}

TEST_F(RoomOfThree, MixesValuesWhereOnlyTheReductionDiffers) {
    all_enter();
    Call most = call(Op::all_reduce, 6);
    most.reduction = Reduction::max;
    communicator.call(0, call(Op::all_reduce, 6), floats({1, 1, 1, 1, 1, 1}));
    communicator.call(1, most, floats({1, 1, 1, 1, 1, 1}));
    communicator.call(2, call(Op::all_reduce, 6), floats({1, 1, 1, 1, 1, 1}));
    EXPECT_EQ(heard(0), floats({3, 3, 1, 1, 3, 3}));  // the second third is made by rank 1, in its own way
}

TEST_F(RoomOfThree, GivesEachMemberItsPart) {
    all_enter();
    for (const int rank : {0, 1, 2}) {
        const auto mine = static_cast<float>(rank);
        communicator.call(rank, call(Op::all_to_all, 1, 1), floats({mine, mine + 10, mine + 20}));
    }
    EXPECT_EQ(heard(1), floats({10, 11, 12}));
    told.clear();
    for (const int rank : {0, 1, 2})
        communicator.call(rank, call(Op::reduce_scatter, 1, 2), floats({1, 2, 3}));
    EXPECT_EQ(heard(2), floats({9}));
    told.clear();
    for (const int rank : {0, 1, 2})
        communicator.call(rank, call(Op::all_gather, 1, 3), floats({static_cast<float>(rank)}));
    EXPECT_EQ(heard(0), floats({0, 1, 2}));
}

TEST_F(RoomOfThree, BringsAMessageWhenBothSidesSpeakOfIt) {
    all_enter();
    Call send = call(Op::send, 2), receive = call(Op::recv, 2), less = call(Op::recv, 1);
    send.peer = 2;
    receive.peer = less.peer = 0;
    communicator.call(0, send, floats({4, 5}));
    EXPECT_TRUE(told.empty());
    communicator.call(2, less, {});
    EXPECT_TRUE(told.empty()) << "the receiver speaks of less than was sent";
    send.sequence = receive.sequence = 2;
    communicator.call(2, receive, {});
    communicator.call(0, send, floats({6, 7}));
    EXPECT_EQ(heard(2), floats({6, 7}));
    EXPECT_EQ(heard(0), "");
}

TEST_F(RoomOfThree, TakesAMessageThatFitsIntoTheConnection) {
    all_enter();
    const auto message = [&](Op op, std::uint64_t sequence, std::size_t count) {
        Call one = call(op, count);
        one.peer = op == Op::send ? 2 : 0;
        one.sequence = sequence;
        communicator.call(op == Op::send ? 0 : 2, one,
                          op == Op::send ? std::string(count * sizeof(float), 'x') : "");
    };
    message(Op::send, 1, 2);
    EXPECT_TRUE(told.empty()) << "the first makes the connection, with the receiver";
    message(Op::recv, 1, 2);
    EXPECT_EQ(told.size(), 2u);
    told.clear();
    message(Op::send, 2, 2);
    EXPECT_EQ(told.size(), 1u) << "nobody receives yet, and the sender is done";
    constexpr std::size_t all = ServedCommunicator::connection_buffer / sizeof(float);
    message(Op::send, 3, all);
    EXPECT_EQ(told.size(), 1u) << "more than is free beside the one that waits";
    message(Op::recv, 2, 2);
    EXPECT_EQ(told.size(), 2u) << "the sender is told once";
    message(Op::recv, 3, all);
    EXPECT_EQ(told.size(), 4u);
    told.clear();
    message(Op::send, 4, all);
    EXPECT_EQ(told.size(), 1u) << "the buffer is free again";
    communicator.leave(0, true);
    told.clear();
    message(Op::recv, 4, all);
    EXPECT_EQ(told.size(), 1u) << "what the sender left in it arrives";
}

TEST_F(RoomOfThree, WithdrawsWhatALostMemberBrought) {
    all_enter();
    communicator.call(1, call(Op::all_reduce, 1), floats({1}));
    communicator.leave(1, false);
    communicator.call(0, call(Op::all_reduce, 1), floats({1}));
    communicator.call(2, call(Op::all_reduce, 1), floats({1}));
    ASSERT_EQ(told.size(), 2u);
    for (const Told& one : told) {
        Gone gone;
        std::memcpy(&gone, one.said.data(), sizeof gone);
        EXPECT_EQ(one.kind, Kind::gone);
        EXPECT_EQ(gone.rank, 1);
        EXPECT_FALSE(gone.noticed) << "all share one host: nothing tells";
    }
}

TEST(RoomOrder, IsAFunctionOfTheSeed) {
    const auto order = [](std::uint64_t seed) {
        std::vector<int> members;
        ServedCommunicator communicator(
            "communicator", 8, seed,
            [&](int member, Kind, const std::string&, const std::string&) { members.push_back(member); });
        for (int rank = 0; rank < 8; ++rank) {
            Hello hello;
            hello.rank = hello.device = rank;
            hello.size = 8;
            communicator.enter(hello);
        }
        return members;
    };
    EXPECT_EQ(order(1), order(1));
    EXPECT_NE(order(1), order(2));
}

}  // namespace
}  // namespace deadrank::inject::standin
