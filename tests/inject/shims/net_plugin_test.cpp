// Goal: the network plugin carries what it is given, in every version of the interface, and each fault of the
// plan is seen by whoever NCCL would be: an error, a message lost, late, slow, bent or stuck.
#include <algorithm>
#include <gmock/gmock.h>
#include <regex>

#include "tests/inject/shims/shim_run.h"

namespace deadrank::tests {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

class NetRun : public testing::Test {
protected:
    void SetUp() override {
        if (const std::string why = no_shims(); !why.empty()) GTEST_SKIP() << why;
    }
    // Rank 1 sends to rank 0.
    std::string pair(std::size_t bytes, int count, int version = 11) {
        run.environment.erase("DEADRANK_RANK");
        run.limit = 90;
        return run
            .start(program_directory + "/net_pair " + shim_directory + "/libnccl-net-deadrank.so " +
                   std::to_string(version) + " " + std::to_string(bytes) + " " + std::to_string(count))
            .out;
    }
    void fault(int rank, json when, json pull) {
        pull["lever"] = "alter_call";
        run.plan({{"faults", {{{"ranks", {rank}}, {"when", when}, {"pulls", {pull}}}}}});
    }
    // Since the sender began, until its last message was on its way.
    static int milliseconds(const std::string& text) {
        const std::string last = text.substr(std::min(text.size(), text.rfind("sender message")));
        std::smatch found;
        return std::regex_search(last, found, std::regex("ms=([0-9]+)")) ? std::stoi(found[1]) : -1;
    }
    ShimRun run;
};

class DeviceNetPlugin : public NetRun {};

class DeviceNetVersions : public NetRun, public testing::WithParamInterface<int> {};

TEST_P(DeviceNetVersions, CarryEveryByte) {
    const std::string out = pair(3'000'001, 3, GetParam());
    EXPECT_THAT(out, HasSubstr("plugin deadrank speed=10000"));
    EXPECT_THAT(
        out, testing::ContainsRegex("(receiver message 0 size=3000001 wrong_bits=0 ms=[0-9]+\n(.*\n)?){3}"));
    EXPECT_THAT(out, testing::ContainsRegex("(sender message 0 wrong_bits=0 ms=[0-9]+\n(.*\n)?){3}"));
}
INSTANTIATE_TEST_SUITE_P(Of, DeviceNetVersions, testing::Values(8, 9, 10, 11));

TEST_F(DeviceNetPlugin, CarriesNothingAtAll) {
    EXPECT_THAT(pair(0, 2), HasSubstr("receiver message 0 size=0"));
}

TEST_F(DeviceNetPlugin, FailsTheSecondSend) {
    fault(1, {{"before", "net.isend"}, {"nth", 2}}, {{"answer", "remote_error"}});
    const std::string out = pair(1000, 3);
    EXPECT_THAT(out, HasSubstr("sender message 0"));
    EXPECT_THAT(out, HasSubstr("sender message 6"));
    EXPECT_THAT(out, HasSubstr("receiver message 6")) << "the peer went away";
}

TEST_F(DeviceNetPlugin, FailsAReceiveOrATest) {
    fault(0, {{"before", "net.irecv"}}, {{"answer", "internal_error"}});
    EXPECT_THAT(pair(1000, 1), HasSubstr("receiver message 3"));
    fault(0, {{"before", "net.test"}}, {{"answer", "system_error"}});
    EXPECT_THAT(pair(1000, 1), HasSubstr("receiver message 2"));
}

TEST_F(DeviceNetPlugin, LosesAMessageThatItCallsSent) {
    run.environment["NET_PAIR_PATIENCE_MS"] = "3000";
    fault(1, {{"before", "net.isend"}, {"nth", 2}}, {{"skip", true}});
    const std::string out = pair(1000, 2);
    EXPECT_THAT(out, Not(HasSubstr("sender message stalled")));
    EXPECT_THAT(out, HasSubstr("receiver message stalled"));
}

TEST_F(DeviceNetPlugin, BendsOneBit) {
    fault(1, {{"before", "net.isend"}, {"nth", 2}}, {{"flip_bit", 4321}});
    const std::string out = pair(1000, 3);
    EXPECT_THAT(out, testing::ContainsRegex("receiver message 0 size=1000 wrong_bits=1"));
    EXPECT_THAT(out, testing::ContainsRegex("sender message 0 wrong_bits=0"))
        << "the sender's memory stays as it is";
}

TEST_F(DeviceNetPlugin, BendsOneBitOfWhatArrived) {
    fault(0, {{"before", "net.irecv"}}, {{"flip_bit", 7}});
    EXPECT_THAT(pair(1000, 1), HasSubstr("receiver message 0 size=1000 wrong_bits=1"));
}

TEST_F(DeviceNetPlugin, IsLate) {
    fault(1, {{"before", "net.isend"}}, {{"delay", 400'000'000}});
    EXPECT_GE(milliseconds(pair(1000, 1)), 390);
}

TEST_F(DeviceNetPlugin, IsSlowWhereALineIsNarrow) {
    fault(1, {{"before", "net.isend"}, {"always", true}}, {{"bytes_per_second", 10'000'000}});
    const std::string out = pair(2'000'000, 2);  // 0.2 s each
    EXPECT_GE(milliseconds(out), 380) << out;
    EXPECT_THAT(out, HasSubstr("size=2000000 wrong_bits=0"));
}

TEST_F(DeviceNetPlugin, GetsStuck) {
    run.environment["NET_PAIR_PATIENCE_MS"] = "3000";
    for (const char* call : {"net.isend", "net.irecv"}) {
        fault(std::string(call) == "net.isend" ? 1 : 0, {{"before", call}, {"nth", 2}},
              {{"never_completes", true}});
        const std::string out = pair(1000, 2);
        EXPECT_THAT(out, HasSubstr("receiver message 0 size=1000 wrong_bits=0")) << call;
        EXPECT_THAT(out, HasSubstr("receiver message stalled")) << call;
    }
}

TEST_F(DeviceNetPlugin, NeverConnectsNorAccepts) {
    run.environment["NET_PAIR_PATIENCE_MS"] = "3000";
    fault(1, {{"before", "net.connect"}}, {{"never_completes", true}});
    EXPECT_THAT(pair(1000, 1), HasSubstr("sender connect stalled"));
    fault(0, {{"before", "net.accept"}}, {{"never_completes", true}});
    EXPECT_THAT(pair(1000, 1), HasSubstr("receiver accept stalled"));
}

TEST_F(DeviceNetPlugin, RefusesToListenConnectAcceptOrRegister) {
    const auto refused = [&](int rank, const char* call) {
        fault(rank, {{"before", call}}, {{"answer", "system_error"}});
        return pair(1000, 1);
    };
    EXPECT_THAT(refused(0, "net.listen"), HasSubstr("receiver listen 2"));
    EXPECT_THAT(refused(1, "net.connect"), HasSubstr("sender connect 2"));
    EXPECT_THAT(refused(0, "net.accept"), HasSubstr("receiver accept 2"));
    EXPECT_THAT(refused(1, "net.reg_mr"), HasSubstr("sender message 2"));
    EXPECT_EQ(run.truth(1).back()["call"], "net.reg_mr");
}

}  // namespace
}  // namespace deadrank::tests
