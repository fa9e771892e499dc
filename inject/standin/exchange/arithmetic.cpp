// inject/standin/exchange/arithmetic.cpp — Reductions over every element type, those of 16 and 8 bits
// included.
#include "inject/standin/exchange/arithmetic.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>

#include "scenarios/model/error.h"

namespace deadrank::inject::standin {

namespace {

// How an element is counted with: integers as unsigned where they wrap, small floats as float.
template <class T>
struct Counted {
    using Type = T;
    static Type read(T value) { return value; }
    static T write(Type value) { return value; }
};
template <class Bits, int e, int m, Overflow o, bool f>
struct Counted<SmallFloat<Bits, e, m, o, f>> {
    using Small = SmallFloat<Bits, e, m, o, f>;
    using Type = float;
    static Type read(Small value) { return value.decode(); }
    static Small write(Type value) { return Small::encode(value); }
};

template <class N>
N add(N a, N b) {
    if constexpr (std::is_floating_point_v<N>)
        return a + b;
    else
        return static_cast<N>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

template <class N>
N multiply(N a, N b) {
    if constexpr (std::is_floating_point_v<N>)
        return a * b;
    else
        return static_cast<N>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}

// NaN wins, as in the kernels.
template <class N>
N larger(N a, N b) {
    if constexpr (std::is_floating_point_v<N>) {
        if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<N>::quiet_NaN();
    }
    return std::max(a, b);
}
template <class N>
N smaller(N a, N b) {
    if constexpr (std::is_floating_point_v<N>) {
        if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<N>::quiet_NaN();
    }
    return std::min(a, b);
}

template <class N>
N combine(N a, N b, Reduction reduction) {
    switch (reduction) {
        case Reduction::prod:
            return multiply(a, b);
        case Reduction::max:
            return larger(a, b);
        case Reduction::min:
            return smaller(a, b);
        default:
            return add(a, b);
    }
}

template <class T>
class Reducer {
public:
    using Number = typename Counted<T>::Type;

    Reducer(std::size_t members, Reduction reduction) : members_(members), reduction_(reduction) {}

    void take(const Share& share, std::size_t begin, std::size_t count) {
        const Number factor = factor_of(share);
        sums_.resize(count);
        for (std::size_t at = 0; at < count; ++at) {
            const std::size_t place = begin + at * sizeof(T);
            T element{};
            if (place + sizeof(T) <= share.bytes.size())
                std::memcpy(static_cast<void*>(&element), share.bytes.data() + place, sizeof(T));
            Number value = Counted<T>::read(element);
            if (scaled()) value = multiply(value, factor);
            sums_[at] = first_ ? value : combine(sums_[at], value, reduction_);
        }
        first_ = false;
    }

    void give(std::string& result, std::size_t begin) {
        for (std::size_t at = 0; at < sums_.size(); ++at) {
            Number sum = sums_[at];
            if (reduction_ == Reduction::avg && !std::is_floating_point_v<Number>) {
                sum = static_cast<Number>(sum / static_cast<Number>(members_));
            }
            const T element = Counted<T>::write(sum);
            std::memcpy(result.data() + begin + at * sizeof(T), &element, sizeof(T));
        }
    }

private:
    bool scaled() const {
        return reduction_ == Reduction::scaled_sum ||
               (reduction_ == Reduction::avg && std::is_floating_point_v<Number>);
    }

    Number factor_of(const Share& share) const {
        if (reduction_ == Reduction::scaled_sum) {
            T scale{};
            std::memcpy(static_cast<void*>(&scale), &share.scale, sizeof(T));
            return Counted<T>::read(scale);
        }
        return static_cast<Number>(1.0 / static_cast<double>(members_));
    }

    std::vector<Number> sums_;
    std::size_t members_;
    Reduction reduction_;
    bool first_ = true;
};

template <class T>
void reduce_as(std::span<const Share* const> shares, std::size_t begin, std::size_t end, Reduction reduction,
               std::string& result) {
    Reducer<T> reducer(shares.size(), reduction);
    const std::size_t count = (end - begin) / sizeof(T);
    for (const Share* share : shares) reducer.take(*share, begin, count);
    reducer.give(result, begin);
}

}  // namespace

std::size_t size_of(Element element) {
    static constexpr std::array<std::size_t, element_kinds> sizes{1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
    return sizes[static_cast<std::size_t>(element)];
}

void reduce(std::span<const Share* const> shares, std::size_t begin, std::size_t end, Element element,
            Reduction reduction, std::string& result) {
    using Function =
        void (*)(std::span<const Share* const>, std::size_t, std::size_t, Reduction, std::string&);
    static constexpr std::array<Function, element_kinds> by_element{
        reduce_as<std::int8_t>,  reduce_as<std::uint8_t>,  reduce_as<std::int32_t>, reduce_as<std::uint32_t>,
        reduce_as<std::int64_t>, reduce_as<std::uint64_t>, reduce_as<Half>,         reduce_as<float>,
        reduce_as<double>,       reduce_as<Bfloat16>,      reduce_as<Float8E4M3>,   reduce_as<Float8E5M2>};
    CHECK(end <= result.size());
    by_element[static_cast<std::size_t>(element)](shares, begin, end, reduction, result);
}

}  // namespace deadrank::inject::standin
