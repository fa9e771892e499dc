// sim/collectives/dtype_bits.cpp — IEEE 754 by the hardware for f32 and f64; half precisions through f32, f16
// by hand.
#include "sim/collectives/dtype_bits.h"

#include <bit>
#include <cmath>

namespace deadrank::sim {

namespace {

constexpr Number limit = Number{1} << 61;

Number whole(double value) {
    if (!(value < static_cast<double>(limit))) return limit;  // NaN too
    if (value <= -static_cast<double>(limit)) return -limit;
    return static_cast<Number>(value);
}

// Truncates the mantissa; below the normal range it becomes 0, above it infinite.
std::uint16_t half_bits(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000);
    const int exponent = static_cast<int>(bits >> 23 & 0xff) - 127 + 15;
    if (exponent >= 31) return static_cast<std::uint16_t>(sign | 0x7c00);
    if (exponent <= 0) return sign;
    return static_cast<std::uint16_t>(sign | exponent << 10 | (bits >> 13 & 0x3ff));
}

double half_value(std::uint16_t bits) {
    const int exponent = bits >> 10 & 31;
    const int mantissa = bits & 0x3ff;
    double value = exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
    if (exponent == 31) value = mantissa ? NAN : HUGE_VAL;
    return bits & 0x8000 ? -value : value;
}

}  // namespace

std::uint64_t encode(Number value, Dtype dtype) {
    switch (dtype) {
        case Dtype::i8:
            return static_cast<std::uint8_t>(value);
        case Dtype::i32:
            return static_cast<std::uint32_t>(value);
        case Dtype::f16:
            return half_bits(static_cast<float>(value));
        case Dtype::bf16:
            return std::bit_cast<std::uint32_t>(static_cast<float>(value)) >> 16;
        case Dtype::f32:
            return std::bit_cast<std::uint32_t>(static_cast<float>(value));
        case Dtype::f64:
            return std::bit_cast<std::uint64_t>(static_cast<double>(value));
        default:
            return static_cast<std::uint64_t>(value);
    }
}

Number decode(std::uint64_t bits, Dtype dtype) {
    switch (dtype) {
        case Dtype::i8:
            return static_cast<std::int8_t>(bits);
        case Dtype::i32:
            return static_cast<std::int32_t>(bits);
        case Dtype::f16:
            return whole(half_value(static_cast<std::uint16_t>(bits)));
        case Dtype::bf16:
            return whole(static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits << 16))));
        case Dtype::f32:
            return whole(static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits))));
        case Dtype::f64:
            return whole(std::bit_cast<double>(bits));
        default:
            return static_cast<Number>(bits);
    }
}

}  // namespace deadrank::sim
