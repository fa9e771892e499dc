// tests/runners/find/probe_command_test.cpp — Goal: `deadrank sweep probe` measures what is not ours: for a
// command of anybody's and for an alert rule it finds the threshold that we know they have.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/shell.h"

namespace deadrank::tests {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// Blames who comes to a collective more than 100 ms after everybody else.
constexpr const char* late_comer = R"(# late.py — A detector whose threshold is known.
import json, sys
print(json.dumps({"detector": "late", "version": "1", "symptoms": ["straggler_step_time_skew"]}))
calls = {}
for line in sys.stdin:
    event = json.loads(line)
    if event.get("kind") == "collective.enter":
        calls.setdefault((event["comm"], event["seq"]), []).append((event["t"], event["rank"]))
for times in calls.values():
    times.sort()
    if len(times) > 1 and times[-1][0] - times[-2][0] > 100_000_000:
        print(json.dumps({"symptom": "straggler_step_time_skew", "at": times[-1][0],
                          "blame": {"ranks": [times[-1][1]]}}))
        break
)";

class DeviceProbe : public testing::Test {
protected:
    void SetUp() override {
        // Of its own: the tests of this suite run beside each other.
        const std::string name = testing::UnitTest::GetInstance()->current_test_info()->name();
        place_ = fs::path(testing::TempDir()) / ("deadrank_probe_" + name);
        fs::remove_all(place_);
        fs::create_directories(place_);
    }
    void TearDown() override { fs::remove_all(place_); }

    json probed(const std::string& arguments) const {
        const Answer answer =
            shell("cd '" + place_.string() +
                  "' && DEADRANK_CATALOG='" DEADRANK_SOURCE_DIRECTORY
                  "/scenarios/catalog' " DEADRANK_BINARY_DIRECTORY "/deadrank sweep probe --json " +
                  arguments);
        EXPECT_EQ(answer.code, 0) << answer.out;
        const json curve = json::parse(answer.out, nullptr, false);
        EXPECT_TRUE(curve.is_object()) << answer.out;
        return curve.is_object() ? curve : json::object();
    }

    fs::path place_;
};

// A device that computes 100 ms as usual and is f times as slow comes (f − 1) × 100 ms late: from about 2x
// on.
TEST_F(DeviceProbe, FindsTheThresholdOfAnybodysCommand) {
    if (shell("command -v python3").code != 0) GTEST_SKIP() << "no python3";
    std::ofstream(place_ / "late.py") << late_comer;
    const json curve = probed(
        "scheduling/one_slow_device --vary slow_rank.factor=1x..4x --points 4 --seeds 1..3 --time-limit 300 "
        "--command 'python3 late.py'");
    EXPECT_EQ(curve["who"].get<std::string>().substr(0, 4), "late");
    EXPECT_EQ(curve["points"].front()["seen"], 0);
    EXPECT_EQ(curve["points"].back()["seen"], 3);
    EXPECT_EQ(curve["points"].back()["wrong"], 0);
    ASSERT_FALSE(curve["thresholds"].empty()) << curve.dump(2);
    EXPECT_GE(curve["thresholds"][0]["seen"], 1'800) << curve.dump(2);
    EXPECT_LE(curve["thresholds"][0]["unseen"], 2'300) << curve.dump(2);
    EXPECT_EQ(curve["healthy"]["runs"], 3);
    EXPECT_EQ(curve["healthy"]["false_alarms"], 0);
    EXPECT_EQ(curve["unknown"], 0);
}

// The rule waits for a minute, so nothing shorter than that can be seen.
TEST_F(DeviceProbe, FindsTheThresholdOfAnAlertRule) {
    if (shell("command -v promtool").code != 0)
        GTEST_SKIP() << "no promtool (Debian: prometheus), and nothing else judges rules";
    const json curve = probed("--rules " DEADRANK_SOURCE_DIRECTORY
                              "/tests/alerts/rules/correct.yml --alert GpuHot --failure thermal_throttle "
                              "--vary lasts=30s..20m --points 3 --seeds 1..2 --out " +
                              place_.string());
    EXPECT_EQ(curve["points"].front()["seen"], 0);
    EXPECT_EQ(curve["points"].back()["seen"], 2);
    ASSERT_FALSE(curve["thresholds"].empty()) << curve.dump(2);
    EXPECT_GT(curve["thresholds"][0]["seen"], 60'000'000'000) << curve.dump(2);
    EXPECT_LT(curve["thresholds"][0]["unseen"], 600'000'000'000) << curve.dump(2);
    EXPECT_EQ(curve["healthy"]["false_alarms"], 0);
}

TEST_F(DeviceProbe, SaysThatACommandCannotBeAskedInsteadOfCallingItBlind) {
    const Answer answer =
        shell("DEADRANK_CATALOG='" DEADRANK_SOURCE_DIRECTORY "/scenarios/catalog' " DEADRANK_BINARY_DIRECTORY
              "/deadrank sweep probe scheduling/one_slow_device --vary slow_rank.factor=1x..4x "
              "--points 2 --seeds 1..1 --command /no/such/detector");
    EXPECT_EQ(answer.code, 2) << answer.out;
    EXPECT_NE(answer.out.find("/no/such/detector"), std::string::npos) << answer.out;
}

}  // namespace
}  // namespace deadrank::tests
