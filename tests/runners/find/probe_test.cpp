// tests/runners/find/probe_test.cpp — Goal: a knob turns what it names, and a probe of a real detector in the
// simulator sees more of a stronger fault, nothing of none, and never counts its own crash as blindness.
#include "runners/find/probe.h"

#include <gtest/gtest.h>

#include "scenarios/format/plan_file.h"
#include "tests/runners/find/planted.h"

namespace deadrank::runners::find {
namespace {

std::vector<scenarios::Plan> plans_of(const std::string& id, std::uint64_t seeds) {
    std::vector<scenarios::Plan> plans;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        const auto trial = scenarios::resolve(testing::catalog().named(id), {seed},
                                              {.levers = {"*"}, .workloads = {"*"}}, testing::words());
        plans.push_back(trial->fault);
    }
    return plans;
}

Workers simulators() {
    Workers workers;
    workers.make_runner = [] { return std::make_unique<SimRunner>(); };
    return workers;
}

TEST(Knob, TurnsWhatItNames) {
    scenarios::Plan plan = plans_of("scheduling/one_slow_device", 1).front();
    find_knob("slow_rank.factor", plan, testing::words())->turn(plan, 1'700);
    EXPECT_EQ(plan.faults[0].number("factor"), 1'700);
    find_knob("1.lasts", plan, testing::words())->turn(plan, 5);
    EXPECT_EQ(plan.faults[0].when.lasts, 5);
    find_knob("slow_rank.ranks", plan, testing::words())->turn(plan, 3);
    EXPECT_EQ(plan.faults[0].ranks().size(), 3u);
    find_knob("workload.steps", plan, testing::words())->turn(plan, 33);
    EXPECT_EQ(plan.number(plan.workload, "steps"), 33);
}

TEST(Knob, RefusesWhatIsNoNumberAndSaysWhatIs) {
    const scenarios::Plan plan = plans_of("scheduling/one_slow_device", 1).front();
    const auto refused = find_knob("slow_rank.speed", plan, testing::words());
    ASSERT_FALSE(refused.has_value());
    EXPECT_NE(refused.error().text().find("factor"), std::string::npos) << refused.error().text();
    EXPECT_FALSE(find_knob("kill_rank.signal", plan, testing::words()).has_value());
    EXPECT_FALSE(parse_range("4x..1x", scenarios::ValueType::factor).has_value());
    EXPECT_FALSE(parse_range("1x", scenarios::ValueType::factor).has_value());
    EXPECT_EQ(parse_range("1x..4x", scenarios::ValueType::factor)->high, 4'000);
}

TEST(DetectorProbe, SeesAStrongFaultAndNotAnAbsentOne) {
    const auto plans = plans_of("scheduling/one_slow_device", 4);
    const auto knob = find_knob("slow_rank.factor", plans.front(), testing::words());
    const results::Detectors all = results::all_detectors();
    const Workers workers = simulators();
    const DetectorProbe probe(plans, *knob, all, "straggler_step_time_skew", workers);
    for (const Shot& shot : probe.fire(3'000)) EXPECT_TRUE(shot.known && shot.seen && shot.harmed);
    for (const Shot& shot : probe.fire(1'000)) EXPECT_TRUE(shot.known && !shot.seen && !shot.harmed);
    for (const Shot& shot : probe.fire_healthy()) EXPECT_FALSE(shot.seen);
}

class Crashing final : public results::Detector {
public:
    std::string_view name() const override { return "crashing"; }
    std::vector<std::string_view> symptoms() const override { return {}; }
    std::vector<results::Finding> examine(const results::Evidence&) const override {
        throw std::runtime_error("out of order");
    }
};

TEST(DetectorProbe, DoesNotTakeACrashForBlindness) {
    const auto plans = plans_of("scheduling/one_slow_device", 1);
    const auto knob = find_knob("slow_rank.factor", plans.front(), testing::words());
    results::Detectors broken;
    broken.push_back(std::make_unique<Crashing>());
    const Workers workers = simulators();
    const DetectorProbe probe(plans, *knob, broken, "", workers);
    EXPECT_FALSE(probe.fire(3'000).front().known);
    EXPECT_FALSE(probe.fire_healthy().front().known);
}

TEST(DetectorProbe, TellsAnAbsentMomentFromBlindness) {
    auto plans = plans_of("scheduling/one_slow_device", 1);
    plans.front().faults[0].when = {.step = 1, .nth = 1'000'000};
    const auto knob = find_knob("slow_rank.factor", plans.front(), testing::words());
    const results::Detectors all = results::all_detectors();
    const Workers workers = simulators();
    EXPECT_FALSE(DetectorProbe(plans, *knob, all, "", workers).fire(3'000).front().known);
}

}  // namespace
}  // namespace deadrank::runners::find
