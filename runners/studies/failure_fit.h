// runners/studies/failure_fit.h — Renewal processes fitted to the gaps between failures, and tested on gaps
// that were not fitted.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runners/studies/failure_table.h"

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
// far off.
struct KolmogorovSmirnov {
    double distance = 0, chance = 1;
};
KolmogorovSmirnov distance_of(const GapModel& model, std::vector<double> gaps);

struct FittedModel {
    GapModel model;
    double low = 0, high = 0;  // 95 % bootstrap interval of its shape
    KolmogorovSmirnov held;    // on the gaps that were not fitted
    bool holds() const { return held.chance >= 0.05; }
};

// For one group of a table, or for all of it.
struct FailureFit {
    std::string group;
    std::size_t failures = 0, fitted = 0, held = 0;
    double mean_gap = 0, variation = 0;  // seconds; coefficient of variation
    std::vector<FittedModel> models;     // exponential, Weibull, gamma
};

// Places that fail repeatedly, compared with independent failures of equal places.
struct RepeatOffenders {
    double places = 0, per_place = 0;
    double dispersion = 0;     // variance over mean of the failures per place; 1 = independent
    double low = 0, high = 0;  // of the dispersion, by bootstrap over places
    std::size_t four_or_more = 0;
    double four_expected = 0;
};

struct FailureStudy {
    std::vector<FailureFit> fits;  // the whole table first, then each group with enough failures
    RepeatOffenders offenders;
};

// Fits every other gap and tests on the rest. Failures reported at the same moment count as one. `samples`:
// of the bootstrap.
FailureStudy study_failures(const FailureTable& table, std::uint64_t seed, int samples = 200);

}  // namespace deadrank::runners
