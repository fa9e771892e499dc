// runners/find/statistics.h — How sure one may be after so many tries: intervals for a share, and how many
// clean runs it takes before a rare bug may be called fixed.
#pragma once

#include <cstdint>
#include <optional>

namespace deadrank::runners::find {

struct Interval {
    double low = 0, high = 1;
};

// Of `hits` in `tries`, at 95 % unless said otherwise. Without tries: all that is possible.
Interval wilson(std::uint64_t hits, std::uint64_t tries, double confidence = 0.95);
Interval clopper_pearson(std::uint64_t hits, std::uint64_t tries, double confidence = 0.95);

// Clean runs after which a bug that shows in a share `rate` of the runs would have shown with that
// confidence. Nothing for a rate of 0: no number of runs is enough.
std::optional<std::uint64_t> clean_runs_needed(double rate, double confidence = 0.95);

// The same for a bug seen in `hits` of `tries` runs: as if it were as rare as the interval still allows.
std::optional<std::uint64_t> clean_runs_after(std::uint64_t hits, std::uint64_t tries,
                                              double confidence = 0.95);

}  // namespace deadrank::runners::find
