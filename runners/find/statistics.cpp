// runners/find/statistics.cpp — Wilson 1927, Clopper and Pearson 1934. Reports only: no draw depends on
// these.
#include "runners/find/statistics.h"

#include <algorithm>
#include <boost/math/special_functions/beta.hpp>
#include <boost/math/special_functions/erf.hpp>
#include <cmath>

namespace deadrank::runners::find {

namespace {

// How many standard deviations hold that share of a normal distribution.
double deviations(double confidence) { return std::sqrt(2.0) * boost::math::erf_inv(confidence); }

}  // namespace

Interval wilson(std::uint64_t hits, std::uint64_t tries, double confidence) {
    if (tries == 0) return {};
    const double n = static_cast<double>(tries), share = static_cast<double>(hits) / n;
    const double z = deviations(confidence), z2 = z * z;
    const double middle = (share + z2 / (2 * n)) / (1 + z2 / n);
    const double half = z * std::sqrt(share * (1 - share) / n + z2 / (4 * n * n)) / (1 + z2 / n);
    return {hits == 0 ? 0.0 : std::max(0.0, middle - half),
            hits == tries ? 1.0 : std::min(1.0, middle + half)};
}

Interval clopper_pearson(std::uint64_t hits, std::uint64_t tries, double confidence) {
    if (tries == 0) return {};
    const double k = static_cast<double>(hits), n = static_cast<double>(tries);
    const double tail = (1 - confidence) / 2;
    return {hits == 0 ? 0.0 : boost::math::ibeta_inv(k, n - k + 1, tail),
            hits == tries ? 1.0 : boost::math::ibeta_inv(k + 1, n - k, 1 - tail)};
}

std::optional<std::uint64_t> clean_runs_needed(double rate, double confidence) {
    if (rate <= 0) return std::nullopt;
    if (rate >= 1) return 1;
    return static_cast<std::uint64_t>(std::ceil(std::log1p(-confidence) / std::log1p(-rate)));
}

std::optional<std::uint64_t> clean_runs_after(std::uint64_t hits, std::uint64_t tries, double confidence) {
    return clean_runs_needed(clopper_pearson(hits, tries, confidence).low, confidence);
}

}  // namespace deadrank::runners::find
