// inject/standin/exchange/arithmetic.h — Reductions over every element type, those of 16 and 8 bits included.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "inject/standin/exchange/exchange_wire.h"

namespace deadrank::inject::standin {

// Floating-point numbers of 16 and 8 bits by the number of their exponent and mantissa bits. Encoding rounds
// to nearest, ties to even.

enum class Overflow { infinity, largest };

// `finite_only`: the all-ones exponent holds numbers too, and only the all-ones pattern is NaN.
template <class Bits, int exponent_bits, int mantissa_bits, Overflow overflow, bool finite_only = false>
struct SmallFloat {
    Bits bits = 0;

    static constexpr int bias = (1 << (exponent_bits - 1)) - 1;
    static constexpr int top = (1 << exponent_bits) - 1;
    static constexpr int mantissa_mask = (1 << mantissa_bits) - 1;
    static constexpr int no_number =
        top << mantissa_bits | (finite_only ? mantissa_mask : 1 << (mantissa_bits - 1));
    static constexpr int largest = finite_only ? no_number - 1 : (top << mantissa_bits) - 1;

    float decode() const {
        const int mantissa = bits & mantissa_mask;
        const int exponent = bits >> mantissa_bits & top;
        const float sign = bits >> (exponent_bits + mantissa_bits) ? -1.0F : 1.0F;
        if (exponent == top && (!finite_only || mantissa == mantissa_mask)) {
            return mantissa ? std::numeric_limits<float>::quiet_NaN()
                            : sign * std::numeric_limits<float>::infinity();
        }
        if (exponent == 0) return sign * std::ldexp(static_cast<float>(mantissa), 1 - bias - mantissa_bits);
        return sign *
               std::ldexp(static_cast<float>(mantissa | 1 << mantissa_bits), exponent - bias - mantissa_bits);
    }

    static SmallFloat encode(float value) {
        const int sign = std::signbit(value) ? 1 << (exponent_bits + mantissa_bits) : 0;
        return {static_cast<Bits>(sign | magnitude(std::fabs(value)))};
    }

private:
    static int magnitude(float value) {
        if (std::isnan(value)) return no_number;
        if (value == 0) return 0;
        const int beyond = overflow == Overflow::infinity ? top << mantissa_bits : largest;
        if (std::isinf(value)) return beyond;
        // Steps of the last place at this height; nearbyint rounds ties to even, and a carry into the next
        // exponent is the right encoding by itself.
        const int exponent = std::max(std::ilogb(value), 1 - bias);
        const float steps = std::nearbyint(std::ldexp(value, mantissa_bits - exponent));
        const double code =
            static_cast<double>(exponent + bias - 1) * (1 << mantissa_bits) + static_cast<double>(steps);
        return code > largest ? beyond : static_cast<int>(code);
    }
};

using Half = SmallFloat<std::uint16_t, 5, 10, Overflow::infinity>;
using Bfloat16 = SmallFloat<std::uint16_t, 8, 7, Overflow::infinity>;
using Float8E4M3 = SmallFloat<std::uint8_t, 4, 3, Overflow::largest, true>;
using Float8E5M2 = SmallFloat<std::uint8_t, 5, 2, Overflow::largest>;

// Reductions over every element type that NCCL has, in rank order: the same inputs give the same bits in
// every run.

std::size_t size_of(Element);

struct Share {
    std::string bytes;        // what one member sent
    std::uint64_t scale = 0;  // its factor, for scaled_sum
};

// Bytes [begin, end) of the result, taken over all shares, as elements of this type. Shorter shares count as
// zeros where they end.
void reduce(std::span<const Share* const> shares, std::size_t begin, std::size_t end, Element element,
            Reduction reduction, std::string& result);

}  // namespace deadrank::inject::standin
