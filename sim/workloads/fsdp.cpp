// sim/workloads/fsdp.cpp — Every layer in shards of its own: gathered just before use, the next one
// prefetched, gradients reduce-scattered behind. What a missing wait does to a prefetched layer is a wrong
// number, not a flag.
#include <algorithm>
#include <fmt/format.h>
#include <vector>

#include "sim/workloads/bodies.h"
#include "sim/workloads/job.h"

namespace deadrank::sim {

scenarios::Kind fsdp_words() {
    scenarios::Kind kind = job_words(
        "fsdp", "fully sharded data parallel: per-layer gather with prefetch, reduce-scatter behind");
    kind.parameters.push_back(
        {"prefetch", scenarios::ValueType::boolean, "true", "gather the next layer while this one computes"});
    for (const char* seam :
         {"shard.offset", "gradient.divisor", "loss.divisor", "prefetch.layer", "sharding.size"})
        kind.seams.emplace_back(seam);
    for (const char* block :
         {"gather.wait", "gradient.reduce_scatter", "reduce.wait", "parameters.reshard"}) {
        kind.blocks.emplace_back(block);
    }
    return kind;
}

namespace {

constexpr Number leftover = one << 20;

class Layers {
public:
    Layers(Job& job, std::vector<Number>& mine, std::size_t each)
        : job_(job),
          mine_(mine),
          each_(each),
          layers_(static_cast<std::size_t>(job.shape().layers)),
          whole_(layers_),
          work_(layers_) {}

    void prefetch(std::size_t layer) {
        layer =
            static_cast<std::size_t>(job_.world().seam("prefetch.layer", static_cast<std::int64_t>(layer))) %
            layers_;
        if (work_[layer]) return;
        // Fresh memory holds what somebody left there.
        whole_[layer].assign(each_ * static_cast<std::size_t>(job_.size()), leftover);
        held_.push_back(job_.memory().take(job_.shape().layer_width()));
        work_[layer] =
            job_.comm().all_gather_async(std::span(mine_).subspan(layer * each_, each_), whole_[layer]);
    }

    std::span<const Number> get(std::size_t layer) {
        prefetch(layer);
        if (!work_[layer]) {
            throw RankFailure(
                fmt::format("RuntimeError: layer {} was used, and another one had been gathered", layer));
        }
        if (job_.world().block("gather.wait")) work_[layer]->wait();
        return std::span(whole_[layer]).first(static_cast<std::size_t>(job_.shape().layer_width()));
    }

    // Frees the gathered copies, so that the next step gathers what the optimizer wrote.
    void reshard() {
        for (auto& work : work_) {
            if (work) work->wait();
            work.reset();
        }
        for (const std::int64_t handle : held_) job_.memory().give_back(handle);
        held_.clear();
    }

private:
    Job& job_;
    std::vector<Number>& mine_;
    std::size_t each_;
    std::size_t layers_;
    std::vector<std::vector<Number>> whole_;
    std::vector<std::unique_ptr<Work>> work_;
    std::vector<std::int64_t> held_;  // device memory of gathered layers
};

}  // namespace

void fsdp(World& world, const Settings& settings) {
    Job job(world, settings);
    job.start();
    const ModelShape shape = job.shape();
    const auto layers = static_cast<std::size_t>(shape.layers);
    const auto width = static_cast<std::size_t>(shape.width);
    const std::size_t each =
        (width + static_cast<std::size_t>(job.size()) - 1) / static_cast<std::size_t>(job.size());
    const std::int64_t offset = world.seam("shard.offset", static_cast<std::int64_t>(each) * job.rank());
    const std::int64_t seed = world.seam("model.seed", settings.integer("seed"));
    std::vector<Number> mine(layers * each, 0);
    std::vector<std::int64_t> where;  // flat index of each own parameter
    std::vector<std::size_t> own_at;  // and its place in `mine`
    for (std::size_t l = 0; l < layers; ++l) {
        for (std::size_t j = 0; j < each; ++j) {
            const std::int64_t column = offset + static_cast<std::int64_t>(j);
            if (column < 0 || column >= shape.width) continue;  // padding
            where.push_back(static_cast<std::int64_t>(l) * shape.width + column);
            own_at.push_back(l * each + j);
            mine[own_at.back()] = initial_parameter(seed, where.back());
        }
    }
    job.layout("layer.flat", offset,
               std::clamp<std::int64_t>(shape.width - offset, 0, static_cast<std::int64_t>(each)),
               shape.width);
    job.set_state({&mine, static_cast<int>(job.rank()), static_cast<int>(job.size()), true});
    const std::int64_t sharing = job.memory().sharing(job.size());
    const std::int64_t part = shape.layers * ((shape.width + sharing - 1) / sharing);
    job.memory().load({part, part, 2 * part}, shape.parameters(), shape.layers);
    Layers gathered(job, mine, each);
    const bool prefetch = settings.flag("prefetch");
    const Time per_layer = settings.duration("step_time") / (3 * shape.layers);

    job.train([&](std::int64_t step) {
        world.phase(results::Phase::data);
        const auto samples = job.batch(step, job.rank(), job.size());
        world.phase(results::Phase::forward);
        std::vector<std::vector<Number>> levels(samples.size(), std::vector<Number>((layers + 1) * width));
        job.memory().activations(static_cast<std::int64_t>(samples.size() * (layers + 1) * width));
        Dropout dropout = job.dropout(step, job.rank(), samples.size());
        for (std::size_t s = 0; s < samples.size(); ++s, ++dropout.counter) {
            for (std::size_t j = 0; j < width; ++j)
                levels[s][j] = dropout.feature(samples[s], static_cast<int>(j));
        }
        for (std::size_t l = 0; l < layers; ++l) {
            const auto layer = gathered.get(l);
            if (prefetch && l + 1 < layers) gathered.prefetch(l + 1);
            world.device().compute(per_layer);
            for (auto& all : levels) {
                forward_layer(layer, std::span(all).subspan(l * width, width),
                              std::span(all).subspan((l + 1) * width, width));
            }
        }
        Number loss = 0;
        std::vector<std::vector<Number>> above;
        for (std::size_t s = 0; s < samples.size(); ++s) {
            const Number error =
                head_error(std::span(levels[s]).subspan(layers * width, width), answer(samples[s], shape));
            loss = plus(loss, head_loss(error));
            above.emplace_back(width, error);
        }
        world.phase(results::Phase::backward);
        std::vector<std::vector<Number>> gradients(layers);
        std::vector<Number> reduced(layers * each, 0);
        std::vector<std::unique_ptr<Work>> pending;
        for (std::size_t l = layers; l-- > 0;) {
            const auto layer = gathered.get(l);
            world.device().compute(per_layer * 2);
            gradients[l].assign(width, 0);
            for (std::size_t s = 0; s < samples.size(); ++s) {
                std::vector<Number> below(width, 0);
                backward_layer(layer, std::span(levels[s]).subspan(l * width, width), above[s], gradients[l],
                               below);
                above[s] = std::move(below);
            }
            gradients[l].resize(each * static_cast<std::size_t>(job.size()), 0);
            if (!world.block("gradient.reduce_scatter")) continue;
            pending.push_back(
                job.comm().reduce_scatter_async(gradients[l], std::span(reduced).subspan(l * each, each)));
        }
        world.phase(results::Phase::reduce);
        const bool waits = world.block("reduce.wait");
        if (waits) {
            for (auto& work : pending) work->wait();
        }
        Number logged[] = {loss};
        job.comm().all_reduce(logged);
        world.phase(results::Phase::optimizer);
        const std::int64_t everything = std::int64_t{job.size()} * static_cast<std::int64_t>(samples.size());
        descend(mine, reduced, world.seam("gradient.divisor", everything), job.learning_rate(step));
        for (auto& work : pending) work->wait();
        if (world.block("parameters.reshard")) gathered.reshard();
        std::vector<Number> own;
        for (const std::size_t at : own_at) own.push_back(mine[at]);
        const Number mean_loss = scaled(logged[0], 1, world.seam("loss.divisor", everything));
        job.compare(step, own, where, mean_loss, job.size());
        return StepResult{mean_loss, scaled(norm(reduced), 1, everything)};
    });
}

}  // namespace deadrank::sim
