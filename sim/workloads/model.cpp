// sim/workloads/model.cpp — The small model that is trained, in numbers whose sums are exact, so that every
// layout gives the same result.
#include "sim/workloads/model.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "scenarios/model/chance.h"
#include "scenarios/model/error.h"

namespace deadrank::sim {

// ── The model's arithmetic, integers only.

using scenarios::mix;

namespace {

// A number in (-bound, bound) that belongs to (family, index) alone.
constexpr Number spread(std::uint64_t family, std::uint64_t index, Number bound) {
    const std::uint64_t drawn = mix(mix(family * 0x9e3779b97f4a7c15ull) + index * 0x9e3779b97f4a7c15ull);
    return static_cast<Number>(drawn % static_cast<std::uint64_t>(2 * bound - 1)) - (bound - 1);
}

constexpr std::uint64_t true_model = 0x7a9c;
constexpr std::uint64_t data_family = 0x5eed;
constexpr std::uint64_t dropout_family = 0xd809;

}  // namespace

Number initial_parameter(std::int64_t seed, std::int64_t index) {
    return spread(static_cast<std::uint64_t>(seed), static_cast<std::uint64_t>(index), one / 16);
}

std::vector<Number> initial_parameters(const ModelShape& shape, std::int64_t seed) {
    std::vector<Number> parameters(static_cast<std::size_t>(shape.parameters()));
    for (std::size_t i = 0; i < parameters.size(); ++i)
        parameters[i] = initial_parameter(seed, static_cast<std::int64_t>(i));
    return parameters;
}

Number feature(std::int64_t id, int column) {
    return spread(data_family, static_cast<std::uint64_t>(id) * 4096 + static_cast<std::uint64_t>(column),
                  one);
}

std::vector<Number> features(std::int64_t id, int width) {
    std::vector<Number> found(static_cast<std::size_t>(width));
    for (int column = 0; column < width; ++column)
        found[static_cast<std::size_t>(column)] = feature(id, column);
    return found;
}

bool Dropout::drops(int column) const {
    const auto place = static_cast<std::uint64_t>(counter) * 4096 + static_cast<std::uint64_t>(column);
    return one_in > 0 && spread(dropout_family + static_cast<std::uint64_t>(seed), place, one) % one_in == 0;
}

Number Dropout::feature(std::int64_t id, int column) const {
    return drops(column) ? 0 : sim::feature(id, column);
}

int expert_of(std::int64_t id, int experts) {
    return static_cast<int>(mix(static_cast<std::uint64_t>(id) + 0x0e5) %
                            static_cast<std::uint64_t>(experts));
}

bool takes_branch(std::int64_t id, int one_in) {
    return one_in > 0 &&
           mix(static_cast<std::uint64_t>(id) + 0xb4a) % static_cast<std::uint64_t>(one_in) == 0;
}

std::int64_t tokens_of(std::int64_t id) {
    constexpr std::uint64_t most = 8;
    return 1 + static_cast<std::int64_t>(mix(static_cast<std::uint64_t>(id) + 0x70c) % most);
}

namespace {

// What the model should learn: a weight for each column.
Number true_weight(int column) {
    static constexpr auto drawn = [](int at) {
        return one + spread(true_model, static_cast<std::uint64_t>(at), one / 2);
    };
    static constexpr auto first = [] {
        std::array<Number, 64> weights{};
        for (int at = 0; at < std::ssize(weights); ++at) weights[static_cast<std::size_t>(at)] = drawn(at);
        return weights;
    }();
    return column < std::ssize(first) ? first[static_cast<std::size_t>(column)] : drawn(column);
}

}  // namespace

Number answer(std::int64_t id, const ModelShape& shape) {
    Number sum = 0;
    for (int column = 0; column < shape.width; ++column)
        sum = plus(sum, times(feature(id, column), true_weight(column)));
    return sum;
}

namespace {

// Places that follow each other round, without a division for each.
class Ring {
public:
    explicit Ring(std::size_t size) : size_(size) {}
    std::size_t place(int number) const {  // below 0 it counts from the end
        const auto size = static_cast<int>(size_);
        return size == 0 ? 0 : static_cast<std::size_t>((number % size + size) % size);
    }
    std::size_t after(std::size_t place) const { return place + 1 == size_ ? 0 : place + 1; }

private:
    std::size_t size_;
};

}  // namespace

void forward_layer(std::span<const Number> layer, std::span<const Number> in, std::span<Number> out,
                   int first) {
    CHECK(!layer.empty());
    const Ring features(in.size()), own(layer.size());
    std::size_t at = features.place(first), of_layer = 0;
    for (Number& sum : out) {
        const std::size_t next = features.after(at);
        sum = plus(in[at], times(layer[of_layer], in[next]));
        at = next;
        of_layer = own.after(of_layer);
    }
}

void backward_layer(std::span<const Number> layer, std::span<const Number> in,
                    std::span<const Number> out_gradient, std::span<Number> layer_gradient,
                    std::span<Number> in_gradient, int first) {
    CHECK(!layer.empty() && layer.size() == layer_gradient.size());
    if (out_gradient.empty()) return;
    const Ring features(in.size()), own(layer.size());
    std::size_t at = features.place(first), of_layer = 0;
    Number carried = in_gradient[at];  // of the feature that two places in a row add to
    for (const Number above : out_gradient) {
        const std::size_t next = features.after(at);
        layer_gradient[of_layer] = plus(layer_gradient[of_layer], times(above, in[next]));
        in_gradient[at] = plus(carried, above);
        carried = plus(in_gradient[next], times(layer[of_layer], above));
        at = next;
        of_layer = own.after(of_layer);
    }
    in_gradient[at] = carried;
}

Number head_error(std::span<const Number> top, Number right_answer) {
    Number sum = 0;
    for (const Number value : top) sum = plus(sum, value);
    return plus(sum, -right_answer);
}

Number train_sample(const ModelShape& shape, std::span<const Number> parameters, std::int64_t id,
                    std::span<Number> gradient, const Dropout& dropout, std::vector<Number>& between) {
    const auto width = static_cast<std::size_t>(shape.width);
    const auto own = static_cast<std::size_t>(shape.layer_width());
    const auto dense = static_cast<std::size_t>(shape.layers - (takes_branch(id, shape.branch) ? 1 : 0));
    const std::size_t depth = dense + (shape.experts > 0 ? 1 : 0);
    const auto expert =
        static_cast<std::size_t>(shape.layers + (shape.experts > 0 ? expert_of(id, shape.experts) : 0));
    const auto at = [&](std::size_t l) { return (l < dense ? l : expert) * own; };  // of a layer it passes
    // The features before and after each layer, and a gradient of them above and below one.
    between.resize((depth + 3) * width);
    const auto level = [&](std::size_t l) { return std::span(between).subspan(l * width, width); };
    std::span<Number> above = level(depth + 1), below = level(depth + 2);
    Number right_answer = 0;  // answer(id, shape), of the features that are drawn here anyway
    for (int column = 0; column < shape.width; ++column) {
        const Number value = feature(id, column);
        right_answer = plus(right_answer, times(value, true_weight(column)));
        between[static_cast<std::size_t>(column)] = dropout.drops(column) ? 0 : value;
    }
    for (std::size_t l = 0; l < depth; ++l)
        forward_layer(parameters.subspan(at(l), own), level(l), level(l + 1));
    const Number error = head_error(level(depth), right_answer);
    std::fill(above.begin(), above.end(), error);
    for (std::size_t l = depth; l-- > 0;) {
        std::fill(below.begin(), below.end(), 0);
        backward_layer(parameters.subspan(at(l), own), level(l), above, gradient.subspan(at(l), own), below);
        std::swap(above, below);
    }
    return head_loss(error);
}

Number train_sample(const ModelShape& shape, std::span<const Number> parameters, std::int64_t id,
                    std::span<Number> gradient, const Dropout& dropout) {
    std::vector<Number> between;
    return train_sample(shape, parameters, id, gradient, dropout, between);
}

void clip_to(std::span<Number> gradient, Number norm, std::int64_t limit_ppb) {
    const Number limit = scaled(one, limit_ppb, 1'000'000'000);
    if (norm <= limit) return;
    for (Number& value : gradient) value = scaled(value, limit, norm);
}

void descend(std::span<Number> parameters, std::span<const Number> gradient, std::int64_t divisor,
             std::int64_t rate_ppb, std::int64_t times) {
    CHECK(parameters.size() == gradient.size());
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        const Number mean = scaled(gradient[i], times, divisor);
        parameters[i] = plus(parameters[i], -scaled(mean, rate_ppb, 1'000'000'000));
    }
}

namespace {

// Newton's way down to it, from above.
Number integer_sqrt(std::uint64_t sum) {
    if (sum == 0) return 0;
    std::uint64_t root = std::uint64_t{1} << (std::bit_width(sum) + 1) / 2;
    for (;;) {
        const std::uint64_t lower = (root + sum / root) / 2;
        if (lower >= root) return static_cast<Number>(root);
        root = lower;
    }
}

Number root_of(Wide sum) {
    if (sum < infinite) return integer_sqrt(static_cast<std::uint64_t>(std::max<Wide>(sum, 0)));
    Wide low = 0;
    Wide high = Wide{1} << 62;
    while (low < high) {  // the square root of a number with 32 fractional bits has 16
        const Wide middle = (low + high + 1) / 2;
        if (middle * middle <= sum)
            low = middle;
        else
            high = middle - 1;
    }
    return saturate(low);
}

}  // namespace

Number norm(std::span<const Number> gradient) {
    Wide sum = 0;
    for (const Number value : gradient) {
        if (value >= infinite || value <= -infinite) return infinite;
        sum += Wide{value} * value;
        if (sum >= Wide{infinite} * one) return infinite;
    }
    return root_of(sum);
}

Number squares(std::span<const Number> gradient) {
    Wide sum = 0;
    for (const Number value : gradient) {
        sum += Wide{value} * value;
        if (sum >= infinite) return infinite;
    }
    return static_cast<Number>(sum);
}

Number root(Number squares) { return squares >= infinite ? infinite : root_of(Wide{squares}); }

Number checksum(std::span<const Number> numbers) {
    Number sum = 0;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        Number weighted = 0;
        sum = __builtin_mul_overflow(numbers[i], static_cast<Number>(i + 1), &weighted)
                  ? saturate(Wide{sum} + Wide{numbers[i]} * static_cast<Number>(i + 1))
                  : plus(sum, weighted);
    }
    return sum;
}

}  // namespace deadrank::sim
