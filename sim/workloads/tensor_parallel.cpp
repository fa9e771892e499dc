// sim/workloads/tensor_parallel.cpp — Each layer's columns are split over the ranks of a tensor-parallel
// group, replicated over data parallel. Features are gathered before each layer; the prediction is a sum over
// ranks; gradients of features are summed back.
#include <algorithm>
#include <fmt/format.h>
#include <vector>

#include "sim/workloads/job.h"
#include "sim/workloads/workload_catalog.h"

namespace deadrank::sim {

namespace {

struct TensorParallelSettings : JobSettings {
    using JobSettings::JobSettings;
    static constexpr bool loads_saved = true;

    std::int64_t tp_size = integer("tp_size", "4", "ranks of a tensor-parallel group", 1);
    std::int64_t replicated_layers = integer(
        "replicated_layers", "",
        "last layers that each rank of a group holds whole, and of whose gradient it computes its own "
        "part alone, as norms under sequence parallelism do; absent = none");
};

scenarios::Kind tensor_parallel_words() {
    scenarios::Kind kind = job_words(
        "tensor_parallel", "columns of each layer split over a group, data parallel over the groups");
    for (const char* seam : {"shard.offset", "shard.length", "gradient.divisor", "norm.contribution",
                             "loss.divisor", "tp.size", "group.order"}) {
        kind.seams.emplace_back(seam);
    }
    for (const char* block : {"row_parallel.all_reduce", "column.gather", "backward.all_reduce",
                              "gradient.all_reduce", "replicated.all_reduce"}) {
        kind.blocks.emplace_back(block);
    }
    add_loading_words(kind);
    add_clip_words(kind);
    return kind;
}

// One rank's columns of every layer, and the groups it talks to.
struct Split {
    std::unique_ptr<Comm> tp;
    std::unique_ptr<Comm> dp;
    int offset = 0;
    int columns = 0;
    int split = 0;  // layers that are split; those behind them are whole on every rank

    // Where a layer's parameters begin in this rank's, and how many they are.
    std::size_t begin(std::size_t layer, const ModelShape& shape) const {
        const auto of_split = static_cast<std::size_t>(split), own = static_cast<std::size_t>(columns);
        if (layer <= of_split) return layer * own;
        return of_split * own + (layer - of_split) * static_cast<std::size_t>(shape.width);
    }
    // Its part of a layer, of parameters or of their gradient.
    template <class T>
    std::span<T> part(std::span<T> all, std::size_t layer, const ModelShape& shape) const {
        const bool whole = layer >= static_cast<std::size_t>(split);
        return all.subspan(begin(layer, shape) + static_cast<std::size_t>(whole ? offset : 0),
                           static_cast<std::size_t>(columns));
    }
};

Split tensor_split(Job& job, const ModelShape& shape, std::int64_t wanted, std::int64_t replicated) {
    World& world = job.world();
    const auto tp_size = static_cast<Rank>(world.seam("tp.size", wanted));
    if (tp_size <= 0 || job.size() % tp_size != 0) {
        throw RankFailure(
            fmt::format("RuntimeError: world_size ({}) is not divisible by {}", job.size(), tp_size));
    }
    if (shape.width % tp_size != 0) {
        throw RankFailure(fmt::format(
            "ValueError: num_attention_heads ({}) must be a multiple of tensor_model_parallel_size ({}).",
            shape.width, tp_size));
    }
    world.record(results::RankConfig{world.text("tp_size"), world.text(std::to_string(tp_size))});
    Split cut;
    const Rank place = job.rank() % tp_size;
    const auto make_tp = [&] { cut.tp = job.strided_group("tp", job.rank() - place, 1, tp_size); };
    const bool dp_first = world.seam("group.order", 0) != 0;
    if (!dp_first) make_tp();
    cut.dp = job.strided_group("dp", place, tp_size, job.size() / tp_size);
    if (dp_first) make_tp();
    cut.columns = static_cast<int>(world.seam("shard.length", shape.width / tp_size));
    cut.offset = static_cast<int>(world.seam("shard.offset", place * (shape.width / tp_size)));
    if (cut.columns <= 0 || cut.offset < 0 || cut.offset + cut.columns > shape.width) {
        throw RankFailure(fmt::format("RuntimeError: start ({}) + length ({}) exceeds dimension size ({}).",
                                      cut.offset, cut.columns, shape.width));
    }
    job.layout("layer.columns", cut.offset, cut.columns, shape.width);
    cut.split = std::max(0, shape.layers - static_cast<int>(replicated));
    return cut;
}

// Forward and backward of one sample over the tensor-parallel group. Adds to `gradient` (own columns of all
// layers).
Number train_split(World& world, const Split& cut, const ModelShape& shape,
                   std::span<const Number> parameters, std::int64_t id, const Dropout& dropout,
                   std::span<Number> gradient) {
    const auto columns = static_cast<std::size_t>(cut.columns);
    const auto width = static_cast<std::size_t>(shape.width);
    std::vector<std::vector<Number>> inputs(1);
    for (int j = 0; j < shape.width; ++j) inputs[0].push_back(dropout.feature(id, j));
    for (int l = 0; l < shape.layers; ++l) {
        std::vector<Number> part(columns);
        forward_layer(cut.part(parameters, static_cast<std::size_t>(l), shape), inputs.back(), part,
                      cut.offset);
        std::vector<Number> whole(width, 0);
        if (world.block("column.gather")) {
            cut.tp->all_gather(part, whole);
        } else {
            std::copy(part.begin(), part.end(), whole.begin() + cut.offset);
        }
        inputs.push_back(std::move(whole));
    }
    Number partial[] = {0};
    for (std::size_t j = 0; j < columns; ++j)
        partial[0] = plus(partial[0], inputs.back()[j + static_cast<std::size_t>(cut.offset)]);
    if (world.block("row_parallel.all_reduce")) cut.tp->all_reduce(partial);
    const Number error = plus(partial[0], -answer(id, shape));
    std::vector<Number> above(width, error);
    for (std::size_t l = static_cast<std::size_t>(shape.layers); l-- > 0;) {
        std::vector<Number> below(width, 0);
        const auto own = std::span(above).subspan(static_cast<std::size_t>(cut.offset), columns);
        backward_layer(cut.part(parameters, l, shape), inputs[l], own, cut.part(gradient, l, shape), below,
                       cut.offset);
        if (world.block("backward.all_reduce")) cut.tp->all_reduce(below);
        above = std::move(below);
    }
    return head_loss(error);
}

// Where this rank's parameters lie in the flat model.
std::vector<std::int64_t> places_of(const Split& cut, const ModelShape& shape) {
    std::vector<std::int64_t> where;
    for (int l = 0; l < shape.layers; ++l) {
        const bool whole = l >= cut.split;
        for (int j = 0; j < (whole ? shape.width : cut.columns); ++j)
            where.push_back(std::int64_t{l} * shape.width + (whole ? 0 : cut.offset) + j);
    }
    return where;
}

// By the norm over the group.
void clip_part(Job& job, std::span<Number> gradient, Number all, std::int64_t everything) {
    const std::int64_t limit = job.settings().clip;
    if (limit == 0) return;
    const Number norm_of_mean = scaled(root(all), 1, everything);
    clip_to(gradient, job.world().seam("clip.norm", norm_of_mean), limit);
}

// Fresh, or with `saved_ranks` out of a checkpoint, of which every rank reads all parts and keeps its own.
std::vector<Number> own_parameters(Job& job, const ModelShape& shape, const std::vector<std::int64_t>& where,
                                   Rank replicas) {
    const std::int64_t seed = job.world().seam("model.seed", job.settings().seed);
    std::vector<Number> parameters;
    for (const std::int64_t place : where) parameters.push_back(initial_parameter(seed, place));
    if (job.settings().saved_ranks > 0) {
        std::vector<Number> flat = initial_parameters(shape, seed);
        job.load_saved(flat, "tensor_model_parallel_size", replicas);
        for (std::size_t i = 0; i < where.size(); ++i)
            parameters[i] = flat[static_cast<std::size_t>(where[i])];
    }
    return parameters;
}

void tensor_parallel_rank(World& world, const TensorParallelSettings& settings) {
    Job job(world, settings);
    job.start();
    const ModelShape shape = job.shape();
    const Split cut = tensor_split(job, shape, settings.tp_size, settings.replicated_layers);
    const std::vector<std::int64_t> where = places_of(cut, shape);
    std::vector<Number> parameters = own_parameters(job, shape, where, cut.dp->size());
    const std::size_t sharded = cut.begin(static_cast<std::size_t>(cut.split), shape);
    job.set_state({&parameters, static_cast<int>(cut.tp->rank()), static_cast<int>(cut.tp->size()),
                   cut.dp->rank() == 0});
    const auto own = static_cast<std::int64_t>(parameters.size());
    job.memory().load({own, own, 2 * own}, shape.parameters(), shape.layers);
    const Time compute = settings.step_time;
    job.train([&](std::int64_t step) {
        world.phase(results::Phase::data);
        const auto samples = job.batch(step, cut.dp->rank(), cut.dp->size());
        world.phase(results::Phase::forward);
        world.device().compute(compute);
        std::vector<Number> gradient(parameters.size(), 0);
        Number loss = 0;
        job.memory().activations(static_cast<std::int64_t>(samples.size()) * (shape.layers + 1) *
                                 shape.width);
        Dropout dropout = job.dropout(step, cut.dp->rank(), samples.size());
        for (const std::int64_t sample : samples) {
            loss = plus(loss, train_split(world, cut, shape, parameters, sample, dropout, gradient));
            ++dropout.counter;
        }
        world.phase(results::Phase::reduce);
        if (world.block("gradient.all_reduce")) cut.dp->all_reduce(gradient);
        Number logged[] = {loss};
        cut.dp->all_reduce(logged);
        const auto own_part = std::span(gradient).first(sharded),
                   whole_part = std::span(gradient).subspan(sharded);
        if (!whole_part.empty() && world.block("replicated.all_reduce")) cut.tp->all_reduce(whole_part);
        // Each parameter counts once in the norm: own columns here, the others' by the sum over the group;
        // what all hold is counted by the first of them.
        Number size[] = {scaled(squares(own_part), world.seam("norm.contribution", 1), 1)};
        if (!whole_part.empty() && cut.tp->rank() == 0) size[0] = plus(size[0], squares(whole_part));
        cut.tp->all_reduce(size);
        world.phase(results::Phase::optimizer);
        const std::int64_t everything =
            std::int64_t{cut.dp->size()} * static_cast<std::int64_t>(samples.size());
        clip_part(job, gradient, size[0], everything);
        descend(parameters, gradient, world.seam("gradient.divisor", everything), job.learning_rate(step));
        job.digest(step, fmt::format("dp:tp{}", cut.tp->rank()), "parameters", parameters);
        if (!whole_part.empty())
            job.digest(step, "replica", "replicated", std::span<const Number>(parameters).subspan(sharded));
        const Number mean_loss = scaled(logged[0], 1, world.seam("loss.divisor", everything));
        const Number norm_of_mean = scaled(root(size[0]), 1, everything);
        job.compare(step, parameters, where, mean_loss, cut.dp->size());
        job.compare_norm(step, norm_of_mean);
        return StepResult{mean_loss, norm_of_mean};
    });
}

}  // namespace

extern const WorkloadRow tensor_parallel_row{[] {
    return workload(tensor_parallel_words(), tensor_parallel_rank, {"micro_batches", "audit"});
}};

}  // namespace deadrank::sim
