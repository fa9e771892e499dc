// runners/find/curve.h — A detection curve: the share of runs that were noticed at each magnitude, with its
// interval.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "results/record/time.h"

namespace deadrank::runners::find {

// ── Certainty from a number of tries: intervals for a share, and how many clean runs show that a rare bug
// is fixed.

struct Interval {
    double low = 0, high = 1;
};

// Of `hits` in `tries`. Without tries: 0 to 1.
Interval wilson(std::uint64_t hits, std::uint64_t tries, double confidence = 0.95);
Interval clopper_pearson(std::uint64_t hits, std::uint64_t tries, double confidence = 0.95);

// The number of runs in which a bug that shows in a share `rate` of runs would have shown, with that
// confidence. Nothing for a rate of 0: no number of runs is enough.
std::optional<std::uint64_t> clean_runs_needed(double rate, double confidence = 0.95);

// The same for a bug seen in `hits` of `tries` runs: assumes the lowest rate in its interval.
std::optional<std::uint64_t> clean_runs_after(std::uint64_t hits, std::uint64_t tries,
                                              double confidence = 0.95);

// ── How often a fault is noticed at each magnitude, and from which one: a grid first, then bisection
// between the two points where the share crosses.

// One seed at one magnitude.
struct Shot {
    bool known = true;                     // false: undecided; `trouble` says why
    bool seen = false;                     // the detector rang, and not only about a bystander
    bool wrong = false;                    // it blamed a bystander
    bool harmed = false;                   // the job took harm
    results::Time after = results::never;  // from the fault to the first alarm
    std::string trouble = {};
};

// The shots of all seeds at one magnitude, in their order; fewer after a stop.
using ShootSeeds =
    std::function<std::vector<Shot>(std::int64_t magnitude, const std::vector<std::uint64_t>& seeds)>;

struct CurvePoint {
    std::int64_t magnitude = 0;
    std::uint64_t shots = 0, seen = 0, wrong = 0, harmed = 0;
    std::vector<results::Time> delays;  // of what was seen, ascending

    double share() const { return shots == 0 ? 0 : static_cast<double>(seen) / static_cast<double>(shots); }
    Interval interval() const { return wilson(seen, shots); }
    results::Time median_delay() const;  // `never` when nothing was seen
    results::Time longest_delay() const;
};

// The share of noticed runs crosses `share` between these two.
struct Crossing {
    double share = 0.5;
    std::int64_t unseen = 0, seen = 0;
};

struct Curve {
    std::vector<CurvePoint> points;  // ascending
    CurvePoint healthy;              // the same seeds without the fault; `seen` counts false alarms
    std::vector<Crossing> crossings;
    bool monotone = true;  // no later point is significantly below an earlier one
    std::uint64_t unknown = 0;
    std::string trouble;  // of the first unknown shot

    const CurvePoint* at(std::int64_t magnitude) const;
};

struct CurveOptions {
    std::int64_t low = 0, high = 1;
    std::size_t points = 7;                    // of the grid; at least 2
    std::vector<std::uint64_t> seeds;          // not empty
    std::vector<double> shares = {0.5, 0.95};  // crossings to look for
    std::int64_t finest = 1;                   // magnitudes except the two ends are multiples of it
    std::function<bool()> stopped = {};
    std::function<void(std::int64_t magnitude)> progress = {};
};

// Evenly spaced, or by a constant factor if the ends are a factor of eight or more apart.
std::vector<std::int64_t> grid(std::int64_t low, std::int64_t high, std::size_t points);

// Crossings are narrowed until their ends differ by at most a sixteenth, or are adjacent.
Curve measure(const CurveOptions& options, const ShootSeeds& volley, const std::vector<Shot>& healthy);

}  // namespace deadrank::runners::find
