// sim/workloads/model.h — The small model that is trained, in numbers whose sums are exact, so that every
// layout gives the same result.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/world/comm.h"
#include "sim/world/numbers.h"

namespace deadrank::sim {

// ── A small model in fixed point that really learns: a chain of layers, each mixing neighbouring features.
// Every sample's arithmetic is the same in any layout and sums are exact, so a parallel run equals the one-
// rank run bit for bit.

struct ModelShape {
    int layers = 4;
    int width = 8;    // features of a sample
    int experts = 0;  // a last layer of which every sample takes one; 0 = none
    int tied =
        0;  // parameters of a layer, shared by features a multiple of this apart; 0 = one for each feature
    int branch = 0;  // one sample in so many passes the last layer by; 0 = none

    int layer_width() const { return tied > 0 ? tied : width; }
    std::int64_t parameters() const { return std::int64_t{layers + experts} * layer_width(); }
};

// Which expert takes a sample: what a right router answers.
int expert_of(std::int64_t id, int experts);

// Whether a sample passes the last layer by.
bool takes_branch(std::int64_t id, int one_in);

// Tokens of a sample where they are not alike: one to eight.
std::int64_t tokens_of(std::int64_t id);

// Small values drawn from the seed and the parameter's global index, so that a shard can make its own part
// alone.
Number initial_parameter(std::int64_t seed, std::int64_t index);
std::vector<Number> initial_parameters(const ModelShape& shape, std::int64_t seed);

// Sample `id` of the data set: `width` features in (-1, 1), and the answer that an unknown true model gives.
Number feature(std::int64_t id, int column);
std::vector<Number> features(std::int64_t id, int width);
Number answer(std::int64_t id, const ModelShape& shape);

// Dropout of input features. Whether one is dropped depends on seed, sample counter and column alone, so
// every layout that counts alike drops alike.
struct Dropout {
    std::int64_t one_in = 0;  // 0 = none
    std::int64_t seed = 0;
    std::int64_t counter = 0;

    bool drops(int column) const;
    Number feature(std::int64_t id, int column) const;  // 0 where it is dropped
};

// out[j] = in[j] + layer[j] × in[(j + 1) % width]. `first` and `count` select the part of j that the caller
// owns.
void forward_layer(std::span<const Number> layer, std::span<const Number> in, std::span<Number> out,
                   int first = 0);

// Gradient of forward_layer: adds to layer_gradient (of the owned part) and to in_gradient (whole width).
void backward_layer(std::span<const Number> layer, std::span<const Number> in,
                    std::span<const Number> out_gradient, std::span<Number> layer_gradient,
                    std::span<Number> in_gradient, int first = 0);

// The head: prediction = sum of features; error = prediction − answer; loss = error² / 2.
Number head_error(std::span<const Number> top, Number right_answer);
constexpr Number head_loss(Number error) { return times(error, error) / 2; }

// Whole model on one sample: adds its gradient, returns its loss. What the parallel workloads are checked
// against. The features and gradients between layers lie in `between`, for callers with many samples.
Number train_sample(const ModelShape& shape, std::span<const Number> parameters, std::int64_t id,
                    std::span<Number> gradient, const Dropout& dropout, std::vector<Number>& between);
Number train_sample(const ModelShape& shape, std::span<const Number> parameters, std::int64_t id,
                    std::span<Number> gradient, const Dropout& dropout = {});

// parameter −= gradient × times / divisor × rate, where rate is in parts per billion.
void descend(std::span<Number> parameters, std::span<const Number> gradient, std::int64_t divisor,
             std::int64_t rate_ppb, std::int64_t times = 1);

// gradient × limit / norm where the norm is above the limit, which is in parts per billion.
void clip_to(std::span<Number> gradient, Number norm, std::int64_t limit_ppb);

// Square root of the sum of squares, for logs: integer square root of the fixed-point sum.
Number norm(std::span<const Number> gradient);

// The two halves of it, for a gradient that lies on several ranks: squares add up exactly.
Number squares(std::span<const Number> gradient);
Number root(Number squares);

// A sum that is linear and tells places apart: of parts, it adds up to that of the whole.
Number checksum(std::span<const Number> numbers);

}  // namespace deadrank::sim
