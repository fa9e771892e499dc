// results/exporters/series.h — Series of samples, and their text for promtool.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "results/exporters/metric.h"

namespace deadrank::results::exporters {

// ── Series as Prometheus would have scraped them: labels, and one value for each scrape. Two values are
// marks: `absent` (nothing scraped) and `stale` (the scrape at which the series vanished).

// Prometheus' own staleness marker, and a NaN of ours beside it. Only bit patterns tell NaNs apart.
inline constexpr std::uint64_t stale_bits = 0x7ff0000000000002;
inline constexpr std::uint64_t absent_bits = 0x7ff80000dead0001;
inline double stale_value() { return std::bit_cast<double>(stale_bits); }
inline double absent_value() { return std::bit_cast<double>(absent_bits); }
inline bool is_stale(double value) { return std::bit_cast<std::uint64_t>(value) == stale_bits; }
inline bool is_absent(double value) { return std::bit_cast<std::uint64_t>(value) == absent_bits; }

struct Series {
    const Metric* metric = nullptr;
    std::string name;
    Labels labels;
    int node = -1;  // -1 = of the whole cluster
    int gpu = -1;   // local index; -1 = of the whole node
    std::vector<double> values;
};

// 'name{label="value",…}' with Prometheus' escapes.
std::string series_text(const Series& series);
std::string label_value(std::string_view value);

// Expanding notation of promtool: '52+0x80 55 58 91+0x100 stale _x20'. Only integer steps are folded.
std::string expanding_text(const std::vector<double>& values);

// The shortest text that reads back to the same number.
std::string number_text(double value);

}  // namespace deadrank::results::exporters
