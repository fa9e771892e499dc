// sim/collectives/element_reduction.cpp — Reductions over elements as they lie in memory, in rank order.
#include "sim/collectives/element_reduction.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

namespace deadrank::sim {

namespace {

std::uint32_t rounded_shift(std::uint32_t bits, unsigned places) {
    const std::uint32_t half = std::uint32_t{1} << (places - 1), odd = bits >> places & 1;
    return (bits + half - 1 + odd) >> places;
}

struct Bfloat16 {
    std::uint16_t bits;

    float decode() const { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }
    static Bfloat16 encode(float value) {
        const auto wide = std::bit_cast<std::uint32_t>(value);
        if (std::isnan(value)) return {static_cast<std::uint16_t>(wide >> 16 | 0x40)};
        return {static_cast<std::uint16_t>(rounded_shift(wide, 16))};
    }
};

struct Half {
    std::uint16_t bits;

    float decode() const {
        const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000) << 16;
        const std::uint32_t exponent = bits >> 10 & 31, mantissa = bits & 0x3ff;
        if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000 | mantissa << 13);
        if (exponent == 0) {
            const float small = static_cast<float>(mantissa) * 0x1p-24F;
            return sign ? -small : small;
        }
        return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
    }
    static Half encode(float value) {
        const auto wide = std::bit_cast<std::uint32_t>(value);
        const auto sign = static_cast<std::uint16_t>(wide >> 16 & 0x8000);
        const std::uint32_t magnitude = wide & 0x7fffffff;
        if (magnitude > 0x7f800000) return {static_cast<std::uint16_t>(sign | 0x7e00)};
        if (magnitude >= 0x477ff000)
            return {static_cast<std::uint16_t>(sign | 0x7c00)};  // rounds beyond 65504
        if (magnitude < 0x38800000) {  // below the smallest normal: multiples of 2^-24
            const float steps = std::nearbyint(std::bit_cast<float>(magnitude) * 0x1p24F);
            return {static_cast<std::uint16_t>(sign | static_cast<std::uint16_t>(steps))};
        }
        return {static_cast<std::uint16_t>(sign | rounded_shift(magnitude - (112U << 23), 13))};
    }
};

struct Boolean {
    std::uint8_t bits;
};

// How an element is counted with.
template <class T>
struct Arithmetic {
    using Number = T;
    static Number read(T element) { return element; }
    static T write(Number number) { return number; }
};
template <>
struct Arithmetic<Bfloat16> {
    using Number = float;
    static Number read(Bfloat16 element) { return element.decode(); }
    static Bfloat16 write(Number number) { return Bfloat16::encode(number); }
};
template <>
struct Arithmetic<Half> {
    using Number = float;
    static Number read(Half element) { return element.decode(); }
    static Half write(Number number) { return Half::encode(number); }
};
template <>
struct Arithmetic<Boolean> {
    using Number = bool;
    static Number read(Boolean element) { return element.bits != 0; }
    static Boolean write(Number number) { return {number}; }
};

template <class N>
constexpr bool is_complex = false;
template <class R>
constexpr bool is_complex<std::complex<R>> = true;

template <class N>
N add(N a, N b) {
    if constexpr (std::is_same_v<N, bool>)
        return a || b;
    else if constexpr (std::is_integral_v<N>)
        return static_cast<N>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
    else
        return a + b;
}

template <class N>
N multiply(N a, N b) {
    if constexpr (std::is_same_v<N, bool>)
        return a && b;
    else if constexpr (std::is_integral_v<N>)
        return static_cast<N>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
    else
        return a * b;
}

// NaN wins. Complex numbers have no order.
template <class N, class Better>
N better_of(N a, N b, Better better) {
    if constexpr (is_complex<N>) {
        return a;
    } else {
        if constexpr (std::is_floating_point_v<N>) {
            if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<N>::quiet_NaN();
        }
        return better(b, a) ? b : a;
    }
}

template <class N, class Operation>
N bitwise(N a, N b, Operation operation) {
    if constexpr (std::is_integral_v<N>)
        return static_cast<N>(operation(a, b));
    else
        return a;
}

template <class N>
N combine(N a, N b, ReduceOp reduce) {
    switch (reduce) {
        case ReduceOp::prod:
            return multiply(a, b);
        case ReduceOp::max:
            return better_of(a, b, [](auto x, auto y) { return x > y; });
        case ReduceOp::min:
            return better_of(a, b, [](auto x, auto y) { return x < y; });
        case ReduceOp::band:
            return bitwise(a, b, [](auto x, auto y) { return x & y; });
        case ReduceOp::bor:
            return bitwise(a, b, [](auto x, auto y) { return x | y; });
        case ReduceOp::bxor:
            return bitwise(a, b, [](auto x, auto y) { return x ^ y; });
        default:
            return add(a, b);
    }
}

template <class T>
T load(const std::byte* at) {
    T element;
    std::memcpy(&element, at, sizeof(T));
    return element;
}

template <class T>
void store(std::byte* at, T element) {
    std::memcpy(at, &element, sizeof(T));
}

template <class T>
void accumulate(std::span<std::byte> result, std::span<const std::byte> in, ReduceOp reduce) {
    using How = Arithmetic<T>;
    for (std::size_t at = 0; at + sizeof(T) <= result.size(); at += sizeof(T)) {
        const T other = at + sizeof(T) <= in.size() ? load<T>(in.data() + at) : T{};
        const auto sum =
            combine<typename How::Number>(How::read(load<T>(result.data() + at)), How::read(other), reduce);
        store(result.data() + at, How::write(sum));
    }
}

template <class T>
void divide(std::span<std::byte> result, Rank members) {
    using How = Arithmetic<T>;
    using N = typename How::Number;
    if constexpr (!std::is_same_v<N, bool>) {
        for (std::size_t at = 0; at + sizeof(T) <= result.size(); at += sizeof(T)) {
            const N sum = How::read(load<T>(result.data() + at));
            store(result.data() + at, How::write(static_cast<N>(sum / static_cast<N>(members))));
        }
    }
}

// Calls `visit` with an element of the type; false for a type that nobody reduces.
template <class Visit>
bool with_type(Dtype dtype, Visit visit) {
    switch (dtype) {
        case Dtype::i8:
            return visit(std::int8_t{}), true;
        case Dtype::u8:
            return visit(std::uint8_t{}), true;
        case Dtype::i16:
            return visit(std::int16_t{}), true;
        case Dtype::i32:
            return visit(std::int32_t{}), true;
        case Dtype::i64:
            return visit(std::int64_t{}), true;
        case Dtype::f16:
            return visit(Half{}), true;
        case Dtype::bf16:
            return visit(Bfloat16{}), true;
        case Dtype::f32:
            return visit(float{}), true;
        case Dtype::f64:
            return visit(double{}), true;
        case Dtype::boolean:
            return visit(Boolean{}), true;
        case Dtype::c64:
            return visit(std::complex<float>{}), true;
        case Dtype::c128:
            return visit(std::complex<double>{}), true;
        case Dtype::none:
        case Dtype::f8:
            break;
    }
    return false;
}

}  // namespace

void ElementReduction::take(std::span<const std::byte> contribution) {
    if (first_) {
        first_ = false;
        std::copy_n(contribution.begin(), std::min(contribution.size(), result_.size()), result_.begin());
        return;
    }
    with_type(dtype_, [&](auto element) { accumulate<decltype(element)>(result_, contribution, reduce_); });
}

void ElementReduction::finish(Rank members) {
    if (reduce_ != ReduceOp::avg) return;
    with_type(dtype_, [&](auto element) { divide<decltype(element)>(result_, members); });
}

}  // namespace deadrank::sim
