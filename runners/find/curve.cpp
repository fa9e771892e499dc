// runners/find/curve.cpp — A detection curve: the share of runs that were noticed at each magnitude, with its
// interval.
#include "runners/find/curve.h"

#include <algorithm>
#include <boost/math/special_functions/beta.hpp>
#include <boost/math/special_functions/erf.hpp>
#include <cmath>

#include "scenarios/model/error.h"

namespace deadrank::runners::find {

// ── Wilson 1927, Clopper and Pearson 1934. For reports only: no draw depends on these.

namespace {

// The number of standard deviations that contain this share of a normal distribution.
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

// ── The topmost crossing counts: above it everything on the grid is noticed at least as often as asked.

namespace {

bool by_factor(std::int64_t low, std::int64_t high) { return high / 8 >= std::max<std::int64_t>(low, 1); }

std::int64_t between(std::int64_t low, std::int64_t high, double part) {
    if (!by_factor(low, high))
        return low + static_cast<std::int64_t>(std::llround(static_cast<double>(high - low) * part));
    const double from =
        static_cast<double>(std::max<std::int64_t>(low, std::max<std::int64_t>(high / 1024, 1)));
    return static_cast<std::int64_t>(std::llround(from * std::pow(static_cast<double>(high) / from, part)));
}

// Three digits are enough for a human reader.
std::int64_t rounded_to(std::int64_t magnitude, std::int64_t finest) {
    std::int64_t unit = std::max<std::int64_t>(finest, 1);
    while (magnitude / unit >= 1000) unit *= 10;
    return (magnitude + unit / 2) / unit * unit;
}

void add(CurvePoint& point, const Shot& shot) {
    ++point.shots;
    if (shot.seen) ++point.seen;
    if (shot.wrong) ++point.wrong;
    if (shot.harmed) ++point.harmed;
    if (shot.seen && shot.after != results::never) point.delays.push_back(shot.after);
}

class Measuring {
public:
    Measuring(const CurveOptions& options, const ShootSeeds& volley)
        : options_(options), shoot_seeds_(volley) {}

    Curve run(const std::vector<Shot>& healthy) {
        for (const Shot& shot : healthy) take(curve_.healthy, shot);
        for (const std::int64_t magnitude : grid(options_.low, options_.high, options_.points)) {
            const bool end = magnitude == options_.low || magnitude == options_.high;
            (void)measure_at(end ? magnitude : rounded_to(magnitude, options_.finest));
        }
        for (const double share : options_.shares) cross(share);
        judge_order();
        return std::move(curve_);
    }

private:
    bool stopped() const { return options_.stopped && options_.stopped(); }

    void take(CurvePoint& point, const Shot& shot) {
        if (shot.known) return add(point, shot);
        ++curve_.unknown;
        if (curve_.trouble.empty()) curve_.trouble = shot.trouble;
    }

    // Null after a stop.
    const CurvePoint* measure_at(std::int64_t magnitude) {
        if (const CurvePoint* known = curve_.at(magnitude)) return known;
        if (stopped()) return nullptr;
        if (options_.progress) options_.progress(magnitude);
        CurvePoint point{.magnitude = magnitude};
        for (const Shot& shot : shoot_seeds_(magnitude, options_.seeds)) take(point, shot);
        if (stopped()) return nullptr;  // an incomplete volley gives no point
        std::sort(point.delays.begin(), point.delays.end());
        const auto place =
            std::lower_bound(curve_.points.begin(), curve_.points.end(), magnitude,
                             [](const CurvePoint& one, std::int64_t m) { return one.magnitude < m; });
        return &*curve_.points.insert(place, std::move(point));
    }

    void cross(double share) {
        std::optional<Crossing> found;
        for (std::size_t i = 0; i + 1 < curve_.points.size(); ++i) {
            const CurvePoint &a = curve_.points[i], &b = curve_.points[i + 1];
            if ((a.share() >= share) == (b.share() >= share)) continue;
            found = a.share() < share ? Crossing{share, a.magnitude, b.magnitude}
                                      : Crossing{share, b.magnitude, a.magnitude};
        }
        if (!found) return;
        while (apart(*found)) {
            const auto [low, high] = std::minmax(found->unseen, found->seen);
            const std::int64_t middle = rounded_to(between(low, high, 0.5), options_.finest);
            if (middle <= low || middle >= high) break;
            const CurvePoint* point = measure_at(middle);
            if (!point) break;
            (point->share() >= share ? found->seen : found->unseen) = middle;
        }
        curve_.crossings.push_back(*found);
    }

    bool apart(const Crossing& crossing) const {
        const std::int64_t gap = std::llabs(crossing.seen - crossing.unseen);
        return gap > std::max(options_.finest, std::max(crossing.seen, crossing.unseen) / 16);
    }

    void judge_order() {
        const auto& points = curve_.points;
        if (points.size() < 2) return;
        const bool rises = points.front().share() <= points.back().share();
        for (std::size_t i = 0; i + 1 < points.size(); ++i) {
            const Interval a = points[i].interval(), b = points[i + 1].interval();
            if (rises ? b.high < a.low : a.high < b.low) curve_.monotone = false;
        }
    }

    const CurveOptions& options_;
    const ShootSeeds& shoot_seeds_;
    Curve curve_;
};

}  // namespace

results::Time CurvePoint::median_delay() const {
    return delays.empty() ? results::never : delays[(delays.size() - 1) / 2];
}

results::Time CurvePoint::longest_delay() const { return delays.empty() ? results::never : delays.back(); }

const CurvePoint* Curve::at(std::int64_t magnitude) const {
    for (const CurvePoint& point : points) {
        if (point.magnitude == magnitude) return &point;
    }
    return nullptr;
}

std::vector<std::int64_t> grid(std::int64_t low, std::int64_t high, std::size_t points) {
    CHECK(points >= 2 && low < high);
    std::vector<std::int64_t> magnitudes = {low};
    for (std::size_t i = 1; i + 1 < points; ++i) {
        const std::int64_t next =
            between(low, high, static_cast<double>(i) / static_cast<double>(points - 1));
        if (next > magnitudes.back() && next < high) magnitudes.push_back(next);
    }
    magnitudes.push_back(high);
    return magnitudes;
}

Curve measure(const CurveOptions& options, const ShootSeeds& volley, const std::vector<Shot>& healthy) {
    CHECK(!options.seeds.empty());
    return Measuring(options, volley).run(healthy);
}

}  // namespace deadrank::runners::find
