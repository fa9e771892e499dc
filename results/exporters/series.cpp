// results/exporters/series.cpp — Series of samples, and their bytes for Prometheus' remote write.
#include "results/exporters/series.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fmt/format.h>

namespace deadrank::results::exporters {

// ── Text forms of series.

namespace {

bool same(double a, double b) { return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b); }

// Beyond 2^53 every number is whole; steps are checked to be exact before they are folded.
bool is_whole(double value) { return std::abs(value) < 9e18 && value == std::floor(value); }

// How many values from `at` on are equal to the first.
std::size_t equal_run(const std::vector<double>& values, std::size_t at) {
    std::size_t end = at + 1;
    while (end < values.size() && same(values[end], values[at])) ++end;
    return end - at;
}

// How many values from `at` on rise by the same whole step.
std::size_t arithmetic_run(const std::vector<double>& values, std::size_t at) {
    if (at + 1 >= values.size() || !is_whole(values[at]) || !is_whole(values[at + 1])) return 1;
    const double step = values[at + 1] - values[at];
    std::size_t end = at + 2;
    while (end < values.size() && is_whole(values[end]) && values[end] - values[end - 1] == step) ++end;
    return end - at;
}

}  // namespace

std::string number_text(double value) {
    if (std::isnan(value)) return "NaN";
    if (std::isinf(value)) return value > 0 ? "Inf" : "-Inf";
    if (is_whole(value)) return fmt::format("{}", static_cast<long long>(value));
    return fmt::format("{}", value);
}

std::string label_value(std::string_view value) {
    std::string text = "\"";
    for (const char c : value) {
        if (c == '\\' || c == '"') text += '\\';
        if (c == '\n')
            text += "\\n";
        else
            text += c;
    }
    return text + '"';
}

std::string series_text(const Series& series) {
    std::string text = series.name + '{';
    bool first = true;
    for (const auto& [name, value] : series.labels) {
        if (!first) text += ',';
        first = false;
        text += name + '=' + label_value(value);
    }
    return text + '}';
}

std::string expanding_text(const std::vector<double>& values) {
    std::string text;
    for (std::size_t at = 0; at < values.size();) {
        if (at > 0) text += ' ';
        const std::size_t equal = equal_run(values, at);
        if (is_absent(values[at])) {
            text += equal == 1 ? "_" : fmt::format("_x{}", equal);
            at += equal;
        } else if (is_stale(values[at])) {
            text += "stale";
            ++at;
        } else if (equal > 1) {
            text += fmt::format("{}+0x{}", number_text(values[at]), equal - 1);
            at += equal;
        } else if (const std::size_t run = arithmetic_run(values, at); run > 2) {
            const double step = values[at + 1] - values[at];
            text += fmt::format("{}{}{}x{}", number_text(values[at]), step < 0 ? '-' : '+',
                                number_text(std::abs(step)), run - 1);
            at += run;
        } else {
            text += number_text(values[at]);
            ++at;
        }
    }
    return text;
}

}  // namespace deadrank::results::exporters
