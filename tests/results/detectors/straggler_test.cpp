// tests/results/detectors/straggler_test.cpp — Goal: a rank that is far behind in steps of a few milliseconds
// is named, and what a scheduler or a noisy machine does to any process is not.
#include <cmath>

#include "tests/results/detectors/asked.h"

namespace deadrank::tests {
namespace {

// Two ranks with steps of a millisecond, one of them four times as slow; each tells how long it had no
// processor.
TEST(Straggler, SeesARankThatIsLateByLessThanATimeSliceWhileNoRankLosesItsProcessor) {
    const auto short_steps = [](Time slower, std::int64_t late_steps, double starved, bool told = true) {
        EvidenceBuilder job(2);
        job.start().world();
        for (std::int64_t step = 0; step < 12; ++step) {
            for (const Rank rank : {0, 1}) job.add(rank, StepBegin{step});
            job.after(1ms).enters(0, 1, step + 1);
            job.after(step >= 3 && step < 3 + late_steps ? slower : Time(0)).enters(1, 1, step + 1);
            job.after(100us);
            for (const Rank rank : {0, 1}) {
                job.leaves(rank, 1, step + 1);
                if (told) job.add(rank, ValueSample{step, job.text("processor_wait"), starved, std::nan("")});
                job.add(rank, StepEnd{step, 1, 1});
            }
        }
        return job.watched();
    };
    const Finding found = found_by("straggler", short_steps(3ms, 9, 0));
    EXPECT_EQ(found.blame.ranks, ranks({1}));
    EXPECT_EQ(found.blame.step, 3);
    expect_silence_of("straggler", short_steps(3ms, 5, 0));         // one step less than it takes
    expect_silence_of("straggler", short_steps(3ms, 9, 0.001));     // a third of it may be that wait
    expect_silence_of("straggler", short_steps(3ms, 9, 0, false));  // not told
    expect_silence_of("straggler", short_steps(900us, 9, 0));       // not a millisecond
    EXPECT_EQ(found_by("straggler", short_steps(1200us, 9, 0)).blame.ranks, ranks({1}));
}

}  // namespace
}  // namespace deadrank::tests
