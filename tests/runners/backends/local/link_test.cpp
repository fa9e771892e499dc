// tests/runners/backends/local/link_test.cpp — Goal: a link between two real ranks breaks, comes back or
// slows down, by gloo's own sockets; what a link of this machine cannot do is refused with what would help.
#include <gtest/gtest.h>

#include "runners/backends/local/local_levers.h"
#include "runners/backends/local/local_runner.h"
#include "runners/backends/process/mpirun.h"
#include "runners/backends/process/scratch.h"
#include "tests/runners/backends/local/small_plan.h"

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

// The job's last loss, of rank 0.
double last_loss(const Record& record) {
    double loss = 0;
    for (const results::Event* event : record.evidence.each<results::StepEnd>()) {
        if (event->rank == 0) loss = event->as<results::StepEnd>()->loss;
    }
    return loss;
}

// Below gloo nothing checks what arrives: the job ends well, with another result than the healthy one's.
TEST_F(DeviceLink, ThatTurnsABitBendsTheResultAndNobodySaysSo) {
    scenarios::Plan plan = with_link("drop_link");
    plan.faults.clear();
    const auto healthy = LocalRunner().run(plan, {});
    scenarios::FaultSpec fault{.kind = "flip_bits"};
    fault.parameters["rank"] = {.type = ValueType::ranks, .list = {1}};
    fault.parameters["bit"] = {.type = ValueType::integer, .number = 58};
    fault.parameters["side"] = {.type = ValueType::choice, .text = "way"};
    fault.when.step = 2;
    fault.when.before = "all_reduce";
    plan.faults = {fault};
    const auto record = LocalRunner().run(plan, {});
    ASSERT_TRUE(healthy && record) << (record ? healthy : record).error().text();
    ASSERT_EQ(record->truth.marks.size(), 1u) << "applied, and not refused";
    EXPECT_TRUE(record->truth.completed());
    EXPECT_NE(last_loss(*record), last_loss(*healthy));
}

TEST(LocalLink, BetweenMoreThanTwoRanksIsRefusedWithWhatWouldDo) {
    LocalLevers levers(4, 2, {});
    const auto done = levers.pull(inject::ChangeLink{{.from = 0, .to = 1, .down = true}});
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, scenarios::ErrorCode::unsupported);
    EXPECT_NE(done.error().text().find("--ranks 2"), std::string::npos) << done.error().text();
}

}  // namespace
}  // namespace deadrank::runners
