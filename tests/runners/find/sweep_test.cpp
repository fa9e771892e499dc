// tests/runners/find/sweep_test.cpp — Goal: every combination is played once, each pair meets in a pairwise
// sweep, and a map says what really became of each place.
#include "runners/find/sweep.h"

#include <gtest/gtest.h>
#include <set>

#include "runners/find/drawing.h"
#include "runners/find/harm.h"
#include "scenarios/format/plan_file.h"
#include "tests/runners/find/planted.h"
#if __has_include(<rapidcheck.h>)
#include <rapidcheck.h>
#define HAS_RAPIDCHECK 1
#endif

namespace deadrank::runners::find {
namespace {

SweepOptions sweep_options(std::vector<std::string> kinds, const results::Detectors* detectors = nullptr) {
    SweepOptions options{.base = *usual_plan("data_parallel", testing::words()), .words = &testing::words()};
    options.base.cluster["nodes"].number = 1;
    options.base.workload["steps"].number = 4;
    options.kinds = std::move(kinds);
    options.detectors = detectors;
    options.workers.make_runner = [] { return std::make_unique<SimRunner>(); };
    return options;
}

TEST(Sweep, PlaysEveryPlaceOnce) {
    const Sweep swept = sweep(sweep_options({"kill_rank", "lose_node", "unset_env", "preempt_job"}));
    ASSERT_EQ(swept.rows.size(), 4u);
    // 4 ranks × 4 steps; 1 node × 4 steps; 4 ranks at the start; 4 steps of the job.
    EXPECT_EQ(swept.cells.size(), 16u + 4u + 4u + 4u);
    std::set<std::tuple<std::size_t, std::int64_t, std::int64_t>> places;
    for (const SweepCell& cell : swept.cells) places.insert({cell.row, cell.rank, cell.step});
    EXPECT_EQ(places.size(), swept.cells.size());
}

TEST(Sweep, NamesADeadRankWhereverItDies) {
    const Sweep swept = sweep(sweep_options({"kill_rank"}));
    const auto counts = swept.counts();
    EXPECT_EQ(counts.count(Caught::missed) + counts.count(Caught::untold), 0u);
    EXPECT_EQ(counts.at(Caught::named), 16u);
}

TEST(Sweep, CallsHarmThatNobodyReportsMissed) {
    const results::Detectors none;
    const Sweep swept = sweep(sweep_options({"stop_rank", "delay_collective"}, &none));
    EXPECT_EQ(swept.counts(0).at(Caught::missed), 16u);
    for (const SweepCell& cell : swept.cells) EXPECT_NE(cell.harm, Harm::none) << cell.says;
}

TEST(Sweep, MovesAScenariosOwnFaultAndKeepsItsExpectation) {
    const auto& scenario = testing::catalog().named("communication/rank_leaves_all_reduce");
    const auto trial =
        scenarios::resolve(scenario, {1}, {.levers = {"*"}, .workloads = {"*"}}, testing::words());
    SweepOptions options = sweep_options({});
    options.base = trial->fault;
    options.own = true;
    options.steps = {0, 7, 19};
    const Sweep swept = sweep(options);
    EXPECT_EQ(swept.cells.size(), 3u * 8u);
    EXPECT_EQ(swept.counts().at(Caught::named), swept.cells.size());
}

TEST(Sweep, IsTheSameOnOneThreadAndOnThree) {
    SweepOptions options = sweep_options({"slow_rank", "skip_collective"});
    const Sweep alone = sweep(options);
    options.workers.threads = 3;
    const Sweep together = sweep(options);
    ASSERT_EQ(alone.cells.size(), together.cells.size());
    for (std::size_t i = 0; i < alone.cells.size(); ++i) {
        EXPECT_EQ(alone.cells[i].caught, together.cells[i].caught);
        EXPECT_EQ(alone.cells[i].says, together.cells[i].says);
    }
}

bool all_pairs_meet(const std::vector<std::size_t>& levels,
                    const std::vector<std::vector<std::size_t>>& rows) {
    for (std::size_t a = 0; a < levels.size(); ++a) {
        for (std::size_t b = a + 1; b < levels.size(); ++b) {
            std::set<std::pair<std::size_t, std::size_t>> met;
            for (const auto& row : rows) met.insert({row[a], row[b]});
            if (met.size() != levels[a] * levels[b]) return false;
        }
    }
    return true;
}

TEST(Pairwise, NeedsFarFewerRowsThanTheProduct) {
    const auto rows = pairwise({45, 8, 8, 6});
    EXPECT_TRUE(all_pairs_meet({45, 8, 8, 6}, rows));
    EXPECT_GE(rows.size(), 45u * 8u);
    EXPECT_LT(rows.size(), 45u * 8u * 3 / 2);
}

#if HAS_RAPIDCHECK
TEST(PairwiseProperty, LetsEveryPairMeet) {
    EXPECT_TRUE(rc::check("all pairs meet", [] {
        const auto levels = *rc::gen::resize(
            5, rc::gen::nonEmpty(
                   rc::gen::container<std::vector<std::size_t>>(rc::gen::inRange<std::size_t>(1, 7))));
        const auto rows = pairwise(levels);
        RC_ASSERT(all_pairs_meet(levels, rows));
        RC_ASSERT(rows == pairwise(levels));
    }));
}
#else
TEST(PairwiseProperty, IsChecked) { GTEST_SKIP() << "rapidcheck is not installed"; }
#endif

}  // namespace
}  // namespace deadrank::runners::find
