// tests/results/detectors/measured_test.cpp — Goal: a time that was measured elsewhere bounds a job by how
// much its own steps vary; of values that are wrong in one step, or soon after, none is passed over in
// silence.
#include <cmath>

#include "tests/results/detectors/run_detector.h"

namespace deadrank::tests {
namespace {

// Steps that should take a second, and take `longer` and every other time `more`.
Evidence measured(double longer, double more, bool shared_machine = false) {
    EvidenceBuilder job(2);
    job.start().world();
    for (std::int64_t step = 0; step < 12; ++step) {
        const double took = longer + (step % 2 == 0 ? 0 : more);
        for (const Rank rank : job.everybody()) {
            job.add(rank, StepBegin{step});
            if (shared_machine) job.add(rank, ValueSample{step, job.text("processor_wait"), 0, std::nan("")});
        }
        job.after(std::chrono::milliseconds(static_cast<int>(took * 1000)));
        for (const Rank rank : job.everybody())
            job.add(rank, ValueSample{step, job.text("step_time"), took, 1.0}).add(rank, StepEnd{step, 1, 1});
    }
    return job.watched();
}

TEST(MeasuredStepTime, IsExceededByWhatTheJobsOwnStepsDoNotVary) {
    EXPECT_EQ(found_by("low_throughput", measured(1.08, 0)).symptom, "low_throughput_uniform");
    expect_silence_of("low_throughput", measured(1.04, 0));
    expect_silence_of("low_throughput",
                      measured(1.08, 0.04));  // steps that differ by 4 % say nothing at 12 %
    EXPECT_FALSE(asked("low_throughput", measured(1.16, 0.04)).empty());
    expect_silence_of("low_throughput", measured(1.08, 0, true));
    EXPECT_FALSE(asked("low_throughput", measured(1.16, 0, true)).empty());
}

TEST(WrongValues, AreToldTogether) {
    EvidenceBuilder job(3);
    job.start();
    const auto logs = [&](Rank rank, std::int64_t step, const std::string& name, double value) {
        job.add(rank, ValueSample{step, job.text(name), value, 1.0}).after(1ms);
    };
    logs(0, 2, "check.mean", 1.5);
    logs(1, 2, "check.mean", 1.0);
    logs(0, 2, "check.norm", 3.0);
    logs(0, 2, "evaluation.samples", 2.0);
    logs(1, 3, "check.mean", 1.5);
    logs(2, 9, "check.mean", 1.5);
    const Finding found = found_by("value_wrong", job.watched());
    EXPECT_EQ(found.blame.ranks, ranks({0}));
    EXPECT_THAT(found.says, testing::HasSubstr("and of rank 1 within 2 steps"));
    EXPECT_THAT(found.says, testing::HasSubstr("so are evaluation.samples, norm"));
}

}  // namespace
}  // namespace deadrank::tests
