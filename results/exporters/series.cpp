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

// ── WriteRequest{1: TimeSeries{1: Label{1: name, 2: value}, 2: Sample{1: double, 2: ms}}}.

namespace {

void put_number(std::string& out, std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
    out += static_cast<char>(value);
}

// A length-delimited field.
void put_bytes(std::string& out, int field, const std::string& bytes) {
    put_number(out, static_cast<std::uint64_t>(field) << 3 | 2);
    put_number(out, bytes.size());
    out += bytes;
}

std::string label(const std::string& name, const std::string& value) {
    std::string out;
    put_bytes(out, 1, name);
    put_bytes(out, 2, value);
    return out;
}

std::string sample(double value, std::int64_t time_ms) {
    std::string out(1, '\x09');
    char bytes[8];
    std::memcpy(bytes, &value, sizeof bytes);
    out.append(bytes, sizeof bytes);
    out += '\x10';
    put_number(out, static_cast<std::uint64_t>(time_ms));
    return out;
}

}  // namespace

std::string write_request(std::span<const Series> series, std::size_t first, std::size_t last,
                          std::int64_t start_ms, std::int64_t step_ms) {
    std::string out;
    for (const Series& one : series) {
        std::string body;
        // Sorted by name: "__name__" comes before lower case and after capitals, so the map decides.
        Labels labels = one.labels;
        labels["__name__"] = one.name;
        for (const auto& [name, value] : labels) put_bytes(body, 1, label(name, value));
        bool any = false;
        for (std::size_t i = first; i < std::min(last, one.values.size()); ++i) {
            if (is_absent(one.values[i])) continue;
            any = true;
            put_bytes(body, 2, sample(one.values[i], start_ms + static_cast<std::int64_t>(i) * step_ms));
        }
        if (any) put_bytes(out, 1, body);
    }
    return out;
}

std::string snappy_block(const std::string& bytes) {
    std::string out;
    put_number(out, bytes.size());
    for (std::size_t at = 0; at < bytes.size(); at += 65536) {
        const std::size_t length = std::min<std::size_t>(65536, bytes.size() - at);
        out += '\xf4';  // a literal whose length - 1 follows in two bytes
        out += static_cast<char>((length - 1) & 0xff);
        out += static_cast<char>((length - 1) >> 8);
        out.append(bytes, at, length);
    }
    return out;
}

}  // namespace deadrank::results::exporters
