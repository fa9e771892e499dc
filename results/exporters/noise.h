// results/exporters/noise.h — Counter-based random numbers: value = f(series, sample). There is no state, so
// no value depends on which others are made.
#pragma once

#include <cmath>
#include <cstdint>
#include <string_view>

namespace deadrank::results::exporters {

inline std::uint64_t mixed(std::uint64_t x) {
    x += 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
}

inline std::uint64_t hash_of(std::string_view text) {
    std::uint64_t hash = 0xcbf29ce484222325;
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    return hash;
}

// Roughly a normal distribution, as the sum of four uniform ones; never beyond 3.5.
inline double normal_noise(std::uint64_t key, std::uint64_t sample) {
    const std::uint64_t bits = mixed(key ^ mixed(sample));
    double sum = 0;
    for (int i = 0; i < 4; ++i) sum += static_cast<double>((bits >> (16 * i)) & 0xffff) / 65535.0 - 0.5;
    return sum * 1.7320508;
}

inline double rounded(double value, double quantum) {
    if (quantum <= 0) return value;
    if (quantum >= 1) return std::round(value / quantum) * quantum;
    const double steps = std::round(1 / quantum);
    return std::round(value * steps) / steps;
}

}  // namespace deadrank::results::exporters
