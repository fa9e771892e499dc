// sim/workloads/context_parallel.cpp — A long sequence cut over ranks: each holds its positions, and every
// layer needs the neighbour's first one. Parameters are the same at every position, so gradients are summed
// over the cut.
#include <algorithm>
#include <fmt/format.h>
#include <vector>

#include "sim/workloads/job.h"
#include "sim/workloads/workload_catalog.h"

namespace deadrank::sim {

namespace {

enum class Exchange { ring, all_to_all };

struct ContextParallelSettings : JobSettings {
    explicit ContextParallelSettings(Source source) : JobSettings(source) { usual("width", "16"); }

    std::int64_t cp_size = integer("cp_size", "4", "ranks a sequence is cut over", 1);
    Exchange exchange =
        choice<Exchange>("exchange", "ring", "how positions reach their neighbour", {"ring", "all_to_all"});
};

scenarios::Kind context_parallel_words() {
    scenarios::Kind kind = job_words("context_parallel",
                                     "a sequence cut over ranks, neighbours exchanged by ring or all-to-all");
    for (const char* seam : {"sequence.offset", "context.ring_peer", "all_to_all.split", "gradient.divisor",
                             "loss.divisor", "all_to_all.sizes", "cp.size"}) {
        kind.seams.emplace_back(seam);
    }
    for (const char* block : {"attention.exchange", "attention.exchange_back", "context.gradient_reduce",
                              "gradient.all_reduce", "loss.reduce"}) {
        kind.blocks.emplace_back(block);
    }
    leave_out(kind, {"rng."});
    return kind;
}

struct Cut {
    World& world;
    Comm& cp;
    bool ring;
    std::size_t positions;  // of a rank
    std::size_t offset;     // of mine
};

// Passes one number to the rank `by` places on, and gives back what arrived from the other side.
Number passed(const Cut& cut, Number value, int by) {
    const Rank size = cut.cp.size();
    if (size == 1) return value;
    const auto peer = [&](int places) {
        return static_cast<Rank>(((cut.cp.rank() + places) % size + size) % size);
    };
    if (cut.ring) {
        Number out[] = {value};
        Number in[] = {0};
        cut.cp.group_start();
        cut.cp.send(out, static_cast<Rank>(cut.world.seam("context.ring_peer", peer(by))));
        cut.cp.recv(in, peer(-by));
        cut.cp.group_end();
        return in[0];
    }
    std::vector<Number> out(static_cast<std::size_t>(size), 0);
    std::vector<Number> in(static_cast<std::size_t>(size), 0);
    // The split sizes must add up to what is sent; uneven ones are for sequences that do not divide.
    if (cut.world.seam("all_to_all.sizes", size) != size)
        throw RankFailure("RuntimeError: Split sizes doesn't match total dim 0 size");
    out[static_cast<std::size_t>(cut.world.seam("all_to_all.split", peer(by))) % out.size()] = value;
    cut.cp.all_to_all(out, in);
    return in[static_cast<std::size_t>(peer(-by))];
}

// One sequence, forward and backward: adds to the gradient of the shared parameters, returns the loss (equal
// on all).
Number train_sequence(const Cut& cut, const ModelShape& shape, std::span<const Number> parameters,
                      std::int64_t id, std::span<Number> gradient) {
    const auto own = static_cast<std::size_t>(shape.layer_width());
    const auto layers = static_cast<std::size_t>(shape.layers);
    std::vector<std::vector<Number>> inputs;  // own positions and the neighbour's first
    std::vector<Number> now(cut.positions);
    for (std::size_t j = 0; j < now.size(); ++j) now[j] = feature(id, static_cast<int>(cut.offset + j));
    for (std::size_t l = 0; l < layers; ++l) {
        const Number next =
            cut.world.block("attention.exchange") ? passed(cut, now.front(), -1) : now.front();
        std::vector<Number> in = now;
        in.push_back(next);
        forward_layer(parameters.subspan(l * own, own), in, now);
        inputs.push_back(std::move(in));
    }
    Number sum[] = {0};
    for (const Number value : now) sum[0] = plus(sum[0], value);
    if (cut.world.block("loss.reduce")) cut.cp.all_reduce(sum);
    const Number error = plus(sum[0], -answer(id, shape));
    std::vector<Number> above(cut.positions, error);
    for (std::size_t l = layers; l-- > 0;) {
        std::vector<Number> below(cut.positions + 1, 0);
        backward_layer(parameters.subspan(l * own, own), inputs[l], above, gradient.subspan(l * own, own),
                       below);
        const Number from_before =
            cut.world.block("attention.exchange_back") ? passed(cut, below.back(), 1) : 0;
        below.pop_back();
        below.front() = plus(below.front(), from_before);
        above = std::move(below);
    }
    return head_loss(error);
}

void context_parallel_rank(World& world, const ContextParallelSettings& settings) {
    Job job(world, settings);
    job.start();
    ModelShape shape = job.shape();
    const auto cp_size = static_cast<Rank>(world.seam("cp.size", settings.cp_size));
    if (cp_size <= 0 || job.size() % cp_size != 0 || shape.width % cp_size != 0) {
        throw RankFailure(
            fmt::format("AssertionError: sequence length {} and world size {} must be divisible by context "
                        "parallel size {}",
                        shape.width, job.size(), cp_size));
    }
    const Rank mine = job.rank() % cp_size;
    auto cp = job.strided_group("cp", job.rank() - mine, 1, cp_size);
    auto dp = job.strided_group("dp", mine, cp_size, job.size() / cp_size);
    const int positions = shape.width / cp_size;
    shape.tied = positions;
    const auto offset =
        static_cast<std::size_t>(std::max<std::int64_t>(0, world.seam("sequence.offset", mine * positions)));
    const Cut cut{world, *cp, settings.exchange == Exchange::ring, static_cast<std::size_t>(positions),
                  offset};
    job.layout("sequence", static_cast<std::int64_t>(offset), positions, shape.width);
    std::vector<Number> parameters = initial_parameters(shape, world.seam("model.seed", settings.seed));
    job.set_state({&parameters, 0, 1, job.rank() == 0});
    const auto total = static_cast<std::int64_t>(parameters.size());
    job.memory().load({total, total, 2 * total}, total, shape.layers);
    const Time compute = settings.step_time;

    job.train([&](std::int64_t step) {
        world.phase(results::Phase::data);
        const auto samples = job.batch(step, dp->rank(), dp->size());
        world.phase(results::Phase::forward);
        world.device().compute(compute);
        job.memory().activations(static_cast<std::int64_t>(samples.size()) * (shape.layers + 1) * positions);
        std::vector<Number> gradient(parameters.size(), 0);
        Number loss = 0;
        for (const std::int64_t sample : samples)
            loss = plus(loss, train_sequence(cut, shape, parameters, sample, gradient));
        world.phase(results::Phase::reduce);
        if (world.block("context.gradient_reduce")) cp->all_reduce(gradient);
        if (world.block("gradient.all_reduce")) dp->all_reduce(gradient);
        Number logged[] = {loss};
        dp->all_reduce(logged);
        world.phase(results::Phase::optimizer);
        const std::int64_t everything = std::int64_t{dp->size()} * static_cast<std::int64_t>(samples.size());
        descend(parameters, gradient, world.seam("gradient.divisor", everything), job.learning_rate(step));
        job.digest(step, "replica", "parameters", parameters);
        const Number mean_loss = scaled(logged[0], 1, world.seam("loss.divisor", everything));
        std::vector<std::int64_t> where(parameters.size());
        for (std::size_t i = 0; i < where.size(); ++i) where[i] = static_cast<std::int64_t>(i);
        job.compare(step, shape, parameters, where, mean_loss, dp->size());
        return StepResult{mean_loss, scaled(norm(gradient), 1, everything)};
    });
}

}  // namespace

extern const WorkloadRow context_parallel_row{[] {
    return workload(context_parallel_words(), context_parallel_rank, {"micro_batches", "dropout", "audit"});
}};

}  // namespace deadrank::sim
