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

// How sure one may be after so many tries: intervals for a share, and how many clean runs it takes before a
// rare bug may be called fixed.

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

// How often something is noticed at which magnitude, and where that begins: a grid first, then bisection
// between the two points where the share crosses.

// One seed at one magnitude.
struct Shot {
    bool known = true;                     // false: it could not be told; `trouble` says why
    bool seen = false;                     // the detector spoke, and not about a bystander alone
    bool wrong = false;                    // it blamed a bystander
    bool harmed = false;                   // the job took harm
    results::Time after = results::never;  // from the fault to the first word
    std::string trouble = {};
};

// The shots of all seeds at one magnitude, in their order; fewer after a stop.
using Volley =
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

// Between these two the share passes `share`.
struct Crossing {
    double share = 0.5;
    std::int64_t unseen = 0, seen = 0;
};

struct Curve {
    std::vector<CurvePoint> points;  // ascending
    CurvePoint healthy;              // the same seeds without the fault; `seen` are false alarms
    std::vector<Crossing> crossings;
    bool monotone = true;  // beyond what chance explains: no later point is surely below an earlier one
    std::uint64_t unknown = 0;
    std::string trouble;  // of the first unknown shot

    const CurvePoint* at(std::int64_t magnitude) const;
};

struct CurveOptions {
    std::int64_t low = 0, high = 1;
    std::size_t points = 7;                    // of the grid; at least 2
    std::vector<std::uint64_t> seeds;          // not empty
    std::vector<double> shares = {0.5, 0.95};  // crossings that are looked for
    std::int64_t finest = 1;                   // magnitudes are multiples of it but for the ends
    std::function<bool()> stopped = {};
    std::function<void(std::int64_t magnitude)> progress = {};
};

// Evenly spaced, or by a constant factor where the ends are a factor of eight or more apart.
std::vector<std::int64_t> grid(std::int64_t low, std::int64_t high, std::size_t points);

// Crossings are narrowed until their ends are within a sixteenth of each other, or next to each other.
Curve measure(const CurveOptions& options, const Volley& volley, const std::vector<Shot>& healthy);

}  // namespace deadrank::runners::find
