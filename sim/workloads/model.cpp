// sim/workloads/model.cpp — The model's arithmetic, integers only.
#include "sim/workloads/model.h"

#include "scenarios/model/error.h"
#include "sim/engine/rng.h"

namespace deadrank::sim {

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

Number Dropout::feature(std::int64_t id, int column) const {
    const auto place = static_cast<std::uint64_t>(counter) * 4096 + static_cast<std::uint64_t>(column);
    const bool drops =
        one_in > 0 && spread(dropout_family + static_cast<std::uint64_t>(seed), place, one) % one_in == 0;
    return drops ? 0 : sim::feature(id, column);
}

int expert_of(std::int64_t id, int experts) {
    return static_cast<int>(mix(static_cast<std::uint64_t>(id) + 0x0e5) %
                            static_cast<std::uint64_t>(experts));
}

Number answer(std::int64_t id, const ModelShape& shape) {
    Number sum = 0;
    for (int column = 0; column < shape.width; ++column) {
        sum = plus(sum, times(feature(id, column),
                              one + spread(true_model, static_cast<std::uint64_t>(column), one / 2)));
    }
    return sum;
}

void forward_layer(std::span<const Number> layer, std::span<const Number> in, std::span<Number> out,
                   int first) {
    CHECK(!layer.empty());
    for (std::size_t j = 0; j < out.size(); ++j) {
        const std::size_t at = j + static_cast<std::size_t>(first);
        out[j] = plus(in[at % in.size()], times(layer[j % layer.size()], in[(at + 1) % in.size()]));
    }
}

void backward_layer(std::span<const Number> layer, std::span<const Number> in,
                    std::span<const Number> out_gradient, std::span<Number> layer_gradient,
                    std::span<Number> in_gradient, int first) {
    CHECK(!layer.empty() && layer.size() == layer_gradient.size());
    for (std::size_t j = 0; j < out_gradient.size(); ++j) {
        const std::size_t own = j % layer.size();
        const std::size_t at = (j + static_cast<std::size_t>(first)) % in.size();
        const std::size_t next = (at + 1) % in.size();
        layer_gradient[own] = plus(layer_gradient[own], times(out_gradient[j], in[next]));
        in_gradient[at] = plus(in_gradient[at], out_gradient[j]);
        in_gradient[next] = plus(in_gradient[next], times(layer[own], out_gradient[j]));
    }
}

Number head_error(std::span<const Number> top, Number right_answer) {
    Number sum = 0;
    for (const Number value : top) sum = plus(sum, value);
    return plus(sum, -right_answer);
}

Number train_sample(const ModelShape& shape, std::span<const Number> parameters, std::int64_t id,
                    std::span<Number> gradient, const Dropout& dropout) {
    const auto width = static_cast<std::size_t>(shape.width);
    const auto own = static_cast<std::size_t>(shape.layer_width());
    std::vector<std::size_t> path;  // the layers this sample passes
    for (int l = 0; l < shape.layers; ++l) path.push_back(static_cast<std::size_t>(l));
    if (shape.experts > 0)
        path.push_back(static_cast<std::size_t>(shape.layers + expert_of(id, shape.experts)));
    std::vector<Number> activations((path.size() + 1) * width);
    const auto level = [&](std::size_t l) { return std::span(activations).subspan(l * width, width); };
    for (std::size_t j = 0; j < width; ++j) activations[j] = dropout.feature(id, static_cast<int>(j));
    for (std::size_t l = 0; l < path.size(); ++l) {
        forward_layer(parameters.subspan(path[l] * own, own), level(l), level(l + 1));
    }
    const Number error = head_error(level(path.size()), answer(id, shape));
    std::vector<Number> above(width, error);
    for (std::size_t l = path.size(); l-- > 0;) {
        std::vector<Number> below(width, 0);
        backward_layer(parameters.subspan(path[l] * own, own), level(l), above,
                       gradient.subspan(path[l] * own, own), below);
        above = std::move(below);
    }
    return head_loss(error);
}

void descend(std::span<Number> parameters, std::span<const Number> gradient, std::int64_t divisor,
             std::int64_t rate_ppb) {
    CHECK(parameters.size() == gradient.size());
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        const Number mean = scaled(gradient[i], 1, divisor);
        parameters[i] = plus(parameters[i], -scaled(mean, rate_ppb, 1'000'000'000));
    }
}

namespace {

Number root_of(Wide sum) {
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
    for (std::size_t i = 0; i < numbers.size(); ++i)
        sum = saturate(Wide{sum} + Wide{numbers[i]} * static_cast<Number>(i + 1));
    return sum;
}

}  // namespace deadrank::sim
