// tests/runners/local/link_test.cpp — Goal: a link between two real ranks breaks, comes back or slows down,
// by gloo's own sockets; what a link of this machine cannot do is refused with what would help.
#include <gtest/gtest.h>

#include "runners/local/home.h"
#include "runners/local/levers.h"
#include "runners/local/local_runner.h"
#include "runners/local/python.h"
#include "tests/runners/local/small_plan.h"

namespace deadrank::runners {
namespace {

using scenarios::ValueType;

// The link of two nodes with `ranks` in all, from step 2 on.
scenarios::Plan with_link(const std::string& kind, std::int64_t ranks = 2) {
    scenarios::Plan plan = small_plan("data_parallel", 2, ranks, 5);
    plan.cluster["collective_timeout"] = {.type = ValueType::duration, .number = 4'000'000'000};
    scenarios::FaultSpec fault{.kind = kind};
    fault.parameters["node"] = {.type = ValueType::nodes, .list = {0, 1}};
    fault.when.step = 2;
    plan.faults = {fault};
    return plan;
}

bool says(const Record& record, std::string_view words) {
    for (const results::Event* event : record.evidence.each<results::RankLog>()) {
        const auto line = record.evidence.text(event->as<results::RankLog>()->line);
        if (line.find(words) != std::string_view::npos) return true;
    }
    return false;
}

class DeviceLink : public testing::Test {
protected:
    void SetUp() override {
        if (const auto python = best_python(); !python) GTEST_SKIP() << python.error().text();
        if (sockets_shim().empty()) GTEST_SKIP() << "libdeadrank-sockets.so was not built (sanitizers)";
    }
};

TEST_F(DeviceLink, ThatGoesSilentEndsInTheTimeoutOfWhoWaits) {
    const auto record = LocalRunner().run(with_link("drop_link"), {});
    ASSERT_TRUE(record) << record.error().text();
    EXPECT_TRUE(record->truth.applied());
    EXPECT_FALSE(record->truth.completed());
    EXPECT_TRUE(says(*record, "Timed out waiting 4000ms"));
}

// What was under way is neither lost nor sent twice: the job ends well.
TEST_F(DeviceLink, ThatComesBackLetsTheJobGoOn) {
    scenarios::Plan plan = with_link("drop_link");
    plan.faults.front().when.lasts = 1'000'000'000;
    const auto record = LocalRunner().run(plan, {});
    ASSERT_TRUE(record) << record.error().text();
    EXPECT_TRUE(record->truth.applied());
    EXPECT_TRUE(record->truth.completed());
}

TEST(LocalLink, BetweenMoreThanTwoRanksIsRefusedWithWhatWouldDo) {
    LocalLevers levers(4, 2, {});
    const auto done = levers.change_link({.from = 0, .to = 1, .down = true});
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, scenarios::ErrorCode::unsupported);
    EXPECT_NE(done.error().text().find("--ranks 2"), std::string::npos) << done.error().text();
}

}  // namespace
}  // namespace deadrank::runners
