// tests/runners/backends/local/store_proxy_test.cpp — Goal: each trouble of a way through the proxy is the
// one that its word says, for the rank that it was said for and for no other, and ends when it is taken back.
#include "runners/backends/proxy/store_proxy.h"

#include <arpa/inet.h>
#include <chrono>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runners/backends/local/local_runner.h"
#include "runners/backends/process/mpirun.h"

namespace deadrank::runners {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

sockaddr_in loopback(int port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    return address;
}

// A TCP socket that is closed at the end; every wait is bounded.
class Socket {
public:
    explicit Socket(int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) : at_(descriptor) {
        const timeval most{10, 0};
        setsockopt(at_, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most);
    }
    Socket(Socket&& other) noexcept : at_(std::exchange(other.at_, -1)) {}
    Socket& operator=(Socket&&) = delete;
    ~Socket() {
        if (at_ >= 0) close(at_);
    }
    int at() const { return at_; }

    int connect_to(int port) {  // 0, or what went wrong
        const sockaddr_in address = loopback(port);
        return connect(at_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ? 0 : errno;
    }
    void say(const std::string& words) const { (void)send(at_, words.data(), words.size(), MSG_NOSIGNAL); }
    // Until that many came, the end or an error.
    std::string hear(std::size_t count) const {
        std::string heard;
        while (heard.size() < count) {
            char buffer[4096];
            const ssize_t got = recv(at_, buffer, std::min(sizeof buffer, count - heard.size()), 0);
            if (got <= 0) break;
            heard.append(buffer, static_cast<std::size_t>(got));
        }
        return heard;
    }
    bool hears_within(std::chrono::milliseconds time) const {
        pollfd waits{at_, POLLIN, 0};
        return poll(&waits, 1, static_cast<int>(time.count())) > 0;
    }
    bool broken() const {  // a reset, not a mere end
        char one = 0;
        return recv(at_, &one, 1, 0) < 0 && errno == ECONNRESET;
    }

private:
    int at_;
};

// Two ranks with a door each, before a store of which we hold the other end.
class StoreProxyTest : public testing::Test {
protected:
    void SetUp() override {
        const sockaddr_in any = loopback(0);
        ASSERT_EQ(bind(store_.at(), reinterpret_cast<const sockaddr*>(&any), sizeof any), 0);
        ASSERT_EQ(listen(store_.at(), 16), 0);
        sockaddr_in address{};
        socklen_t length = sizeof address;
        getsockname(store_.at(), reinterpret_cast<sockaddr*>(&address), &length);
        auto proxy = StoreProxy::start({0, 1});
        ASSERT_TRUE(proxy) << proxy.error().text();
        proxy_ = std::move(*proxy);
        for (const int rank : {0, 1}) {
            ASSERT_EQ(proxy_->handle_command(fmt::format(R"({{"rank": {}, "target": ["127.0.0.1", {}]}})", rank,
                                               ntohs(address.sin_port))),
                      "ok");
        }
    }

    void trouble(int rank, const std::string& how, std::int64_t amount = 0,
                 std::chrono::nanoseconds late = {}) {
        ASSERT_EQ(proxy_->handle_command(fmt::format(R"({{"rank": {}, "how": "{}", "late": {}, "amount": {}}})", rank,
                                           how, late.count(), amount)),
                  "ok");
    }

    struct Pair {
        Socket client;
        Socket store;
    };
    Pair meet(int rank) {
        Socket client;
        EXPECT_EQ(client.connect_to(proxy_->proxy_port_of(rank)), 0);
        return {std::move(client), Socket(accept(store_.at(), nullptr, nullptr))};
    }

    Socket store_;
    std::unique_ptr<StoreProxy> proxy_;
};

TEST_F(StoreProxyTest, AHealthyWayCarriesAllOfItBothWaysAndTheEnd) {
    const std::string much(100'000, 'x');
    const Pair pair = meet(1);
    pair.client.say("who is there?");
    EXPECT_EQ(pair.store.hear(13), "who is there?");
    pair.store.say(much);
    EXPECT_EQ(pair.client.hear(much.size()), much);
    shutdown(pair.store.at(), SHUT_WR);
    EXPECT_EQ(pair.client.hear(1), "");
    pair.client.say("still");  // the other way is open
    EXPECT_EQ(pair.store.hear(5), "still");
}

TEST_F(StoreProxyTest, AMuteWayHoldsEverythingAndLosesNothing) {
    const Pair pair = meet(1);
    trouble(1, "mute");
    pair.client.say("early");
    EXPECT_FALSE(pair.store.hears_within(50ms));
    trouble(1, "");
    EXPECT_EQ(pair.store.hear(5), "early");
}

TEST_F(StoreProxyTest, AMuteWayTakesNewConnections) {
    trouble(1, "mute");
    Socket client;
    EXPECT_EQ(client.connect_to(proxy_->proxy_port_of(1)), 0);
    client.say("hello");
    EXPECT_FALSE(client.hears_within(50ms));
}

TEST_F(StoreProxyTest, OneRanksTroubleIsNotAnothers) {
    trouble(1, "cut");
    const Pair healthy = meet(0);
    healthy.client.say("fine");
    EXPECT_EQ(healthy.store.hear(4), "fine");
    Socket broken;
    if (broken.connect_to(proxy_->proxy_port_of(1)) == 0) {
        EXPECT_TRUE(broken.broken());
    }
}

TEST_F(StoreProxyTest, ARefusingDoorKeepsWhoIsInside) {
    const Pair inside = meet(1);
    trouble(1, "refuse");
    EXPECT_EQ(Socket().connect_to(proxy_->proxy_port_of(1)), ECONNREFUSED);
    inside.client.say("on");
    EXPECT_EQ(inside.store.hear(2), "on");
    trouble(1, "");
    EXPECT_EQ(Socket().connect_to(proxy_->proxy_port_of(1)), 0);
}

TEST_F(StoreProxyTest, ACutLetsSoManyBytesPassAndBreaksBothEnds) {
    const Pair pair = meet(1);
    trouble(1, "cut", 6);
    pair.client.say("four");
    EXPECT_EQ(pair.store.hear(4), "four");
    pair.store.say("answer");
    EXPECT_LE(pair.client.hear(6).size(), 2u);  // a reset may overtake the last of them
    EXPECT_EQ(pair.store.hear(1), "");
}

TEST_F(StoreProxyTest, WhatIsLateIsNotEarly) {
    const Pair pair = meet(1);
    trouble(1, "late", 0, 60ms);
    const auto begun = std::chrono::steady_clock::now();
    pair.client.say("?");
    EXPECT_EQ(pair.store.hear(1), "?");
    EXPECT_GE(std::chrono::steady_clock::now() - begun, 60ms);
}

TEST_F(StoreProxyTest, ANarrowWayCarriesAllOfItSlowly) {
    const Pair pair = meet(1);
    trouble(1, "narrow", 20'000);
    const std::string much(3000, 'y');
    const auto begun = std::chrono::steady_clock::now();
    pair.client.say(much);
    EXPECT_EQ(pair.store.hear(much.size()), much);
    EXPECT_GE(std::chrono::steady_clock::now() - begun, 100ms);
}

TEST_F(StoreProxyTest, OneBitOfTheAnswersTurnsOnce) {
    const Pair pair = meet(1);
    trouble(1, "flip", 8 * 5 + 3);
    const std::string answer(8, '\0');
    pair.client.say(answer);
    EXPECT_EQ(pair.store.hear(8), answer) << "what is asked is not concerned";
    pair.store.say(answer);
    std::string expected = answer;
    expected[5] = 1 << 3;
    EXPECT_EQ(pair.client.hear(8), expected);
    pair.store.say(answer);
    EXPECT_EQ(pair.client.hear(8), answer);
}

TEST_F(StoreProxyTest, WordsThatMeanNothingAreAnsweredWithWhy) {
    EXPECT_THAT(proxy_->handle_command("nonsense"), HasSubstr("no JSON object"));
    EXPECT_THAT(proxy_->handle_command(R"({"rank": 7, "how": "mute"})"), HasSubstr("rank 7 has no door"));
    EXPECT_THAT(proxy_->handle_command(R"({"rank": 1, "how": "shout"})"), HasSubstr("'shout'"));
    EXPECT_THAT(proxy_->handle_command(R"({"rank": 1, "target": "here"})"), HasSubstr("a host and a port"));
}

// Goal: what the hooks are told is enough to say the same over the wire.
TEST_F(StoreProxyTest, HearsTheSameWordsFromAHook) {
    const std::string told = proxy_->ports_json();
    EXPECT_THAT(told, HasSubstr(fmt::format("\"1\":{}", proxy_->proxy_port_of(1))));
    const std::size_t at = told.find("\"words\":");
    ASSERT_NE(at, std::string::npos) << told;
    Socket hook;
    ASSERT_EQ(hook.connect_to(std::atoi(told.c_str() + at + 8)), 0);
    hook.say("{\"rank\": 1, \"how\": \"refuse\"}\n");
    EXPECT_EQ(hook.hear(3), "ok\n");
    EXPECT_EQ(Socket().connect_to(proxy_->proxy_port_of(1)), ECONNREFUSED);
}

// Goal: a real rank goes through its door unaware, and its torch meets what was done to the connection.
TEST(DeviceStoreProxy, CutsOneRanksWayWhileItMeetsTheOthers) {
    if (const auto python = best_python(); !python) GTEST_SKIP() << python.error().text();
    const auto whole = [](std::int64_t value) {
        return scenarios::Value{.type = scenarios::ValueType::integer, .number = value};
    };
    scenarios::Plan plan;
    plan.scenario = "test";
    plan.workload_kind = "data_parallel";
    plan.cluster["nodes"] = whole(1);
    plan.cluster["ranks"] = plan.cluster["gpus_per_node"] = whole(2);
    plan.cluster["collective_timeout"] = {.type = scenarios::ValueType::duration, .number = 4'000'000'000};
    plan.workload["steps"] = whole(3);
    scenarios::FaultSpec fault{.kind = "break_store"};
    fault.parameters["rank"] = {.type = scenarios::ValueType::ranks, .list = {1}};
    fault.parameters["how"] = {.type = scenarios::ValueType::choice, .text = "cut"};
    fault.parameters["amount"] = whole(200);
    plan.faults = {fault};
    const auto record = LocalRunner().run(plan, {});
    ASSERT_TRUE(record) << record.error().text();
    EXPECT_TRUE(record->truth.applied());
    EXPECT_FALSE(record->truth.completed());
    bool reset = false;
    for (const results::Event* event : record->evidence.each<results::RankLog>()) {
        reset =
            reset || (event->rank == 1 &&
                      record->evidence.text(event->as<results::RankLog>()->line).find("onnection reset") !=
                          std::string_view::npos);
    }
    EXPECT_TRUE(reset);
    std::set<std::string> endpoints;  // as the ranks were told, whatever way one of them takes
    for (const results::Event* event : record->evidence.each<results::RendezvousEnter>())
        endpoints.insert(std::string(record->evidence.text(event->as<results::RendezvousEnter>()->endpoint)));
    EXPECT_EQ(endpoints.size(), 1u);
}

}  // namespace
}  // namespace deadrank::runners
