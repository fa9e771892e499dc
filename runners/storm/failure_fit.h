// runners/storm/failure_fit.h — Renewal processes fitted to the gaps between failures, and tested on gaps
// that were not fitted.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runners/storm/failure_table.h"

namespace deadrank::runners {

// A distribution of the time from one failure to the next. Exponential gaps have shape 1.
struct GapModel {
    enum class Kind { exponential, weibull, gamma } kind = Kind::exponential;
    double shape = 1;
    double scale = 1;  // seconds

    double below(double gap) const;  // the probability of a gap no longer than this
    double quantile(double chance) const;
};
std::string_view name_of(GapModel::Kind kind);

// By maximum likelihood; gaps in seconds, all positive, not all equal.
GapModel fit_gaps(GapModel::Kind kind, const std::vector<double>& gaps);

// The largest distance between a model and these gaps, and the probability that a sample of the model is as
// far off, if the model is known and not fitted.
struct KolmogorovSmirnov {
    double distance = 0, chance = 1;
};
KolmogorovSmirnov distance_of(const GapModel& model, std::vector<double> gaps);

struct FittedModel {
    GapModel model;
    double low = 0, high = 0;  // 95 % bootstrap interval of its shape
    KolmogorovSmirnov held;  // on the gaps that were not fitted; its chance counts that the model was fitted
    bool holds() const { return held.chance >= 0.05; }
};

// Places that fail repeatedly, compared with independent failures of equal places. A place is a repeat
// offender with `often` failures or more: four, or as many as independence leaves to one place in a thousand.
struct RepeatOffenders {
    double places = 0, per_place = 0;
    double dispersion = 0;     // variance over mean of the failures per place; 1 = independent
    double low = 0, high = 0;  // of the dispersion, by bootstrap over places
    int often = 4;
    std::size_t count = 0;                 // of such places
    double count_low = 0, count_high = 0;  // by bootstrap over places
    double expected = 0;                   // of them, if failures were independent
};

// For one part of a table, or for all of it.
struct FailureFit {
    std::string group;
    std::size_t failures = 0, fitted = 0, held = 0;
    std::size_t together = 0;            // failures at the moment of another one: they count as one
    double mean_gap = 0, variation = 0;  // seconds; coefficient of variation
    std::vector<FittedModel> models;     // exponential, Weibull, gamma
    RepeatOffenders offenders;
};

struct FailureStudy {
    std::vector<FailureFit> fits;  // the whole table first, then each part with enough failures
};

// What a table can be parted by. A rate that changes over the years, or causes of different rates, look like
// clustering where they are thrown together.
enum class PartedBy { group, cause, year };

// Fits every other gap and tests on the rest. `samples`: of the bootstrap.
FailureStudy study_failures(const FailureTable& table, const std::vector<PartedBy>& by, std::uint64_t seed,
                            int samples = 200);

}  // namespace deadrank::runners
