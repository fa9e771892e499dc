// tests/results/step_reached_test.cpp — The step that a rank had come to when it ended.
#include "results/analysis/step_reached.h"

#include <gtest/gtest.h>

#include "tests/results/hand_made.h"

namespace deadrank::tests {
namespace {

using results::analysis::step_reached;

// Rank 1 ends step 4; rank 0 begins step 5.
results::Evidence ended_step_4() {
    results::Evidence evidence;
    for (const results::Rank rank : {0, 1}) evidence.record(event(1s, rank, results::StepBegin{.step = 4}));
    for (const results::Rank rank : {0, 1}) evidence.record(event(2s, rank, results::StepEnd{.step = 4}));
    evidence.record(event(2s, 0, results::StepBegin{.step = 5}));
    return evidence;
}

TEST(StepReached, IsTheNextOneForARankThatDidNothingSinceItEndedOne) {
    auto evidence = ended_step_4();
    EXPECT_EQ(step_reached(evidence, 0, 3s), 5);
    EXPECT_EQ(step_reached(evidence, 1, 3s), 5);
}

TEST(StepReached, IsTheEndedOneWhileARankSavesOrWhereNobodyWentOn) {
    auto saving = ended_step_4();
    saving.record(event(2s, 1, results::PhaseBegin{.phase = results::Phase::checkpoint}));
    EXPECT_EQ(step_reached(saving, 1, 3s), 4);
    results::Evidence last;
    last.record(event(1s, 1, results::StepBegin{.step = 4}));
    last.record(event(2s, 1, results::StepEnd{.step = 4}));
    EXPECT_EQ(step_reached(last, 1, 3s), 4);
}

TEST(StepReached, IsTheOpenOneInTheMiddleOfAStep) {
    EXPECT_EQ(step_reached(ended_step_4(), 1, 1500ms), 4);
}

}  // namespace
}  // namespace deadrank::tests
