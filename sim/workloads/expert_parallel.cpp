// sim/workloads/expert_parallel.cpp — Shared layers on every rank, experts spread over them: tokens travel to
// their expert and back by all-to-all. A slot is one sample: its id + 1 (0 = empty) and its features.
#include <algorithm>
#include <fmt/format.h>
#include <vector>

#include "sim/workloads/job.h"
#include "sim/workloads/workload_catalog.h"

namespace deadrank::sim {

namespace {

struct ExpertParallelSettings : JobSettings {
    using JobSettings::JobSettings;

    std::int64_t ep_size = integer("ep_size", "4", "ranks the experts are spread over", 1);
    std::int64_t experts = integer("experts", "8", "experts in all", 1);
};

scenarios::Kind expert_parallel_words() {
    scenarios::Kind kind =
        job_words("expert_parallel", "mixture of experts: routing, all-to-all dispatch and combine");
    for (const char* seam : {"dispatch.layout", "router.capacity", "router.choice", "expert.gradient_divisor",
                             "ep.size", "gradient.divisor", "loss.divisor", "expert.first"}) {
        kind.seams.emplace_back(seam);
    }
    for (const char* block :
         {"dispatch.exchange", "combine.exchange", "gradient.all_reduce", "expert.gradient_all_reduce"}) {
        kind.blocks.emplace_back(block);
    }
    return kind;
}

struct Experts {
    World& world;
    ModelShape shape;
    Rank ranks;
    int each;   // experts of a rank
    int first;  // of mine
    std::size_t capacity;
    std::size_t slot;  // numbers of one slot
    std::vector<Number> parameters;
    std::vector<Number> gradient;

    std::span<Number> of(std::vector<Number>& numbers, int expert) const {
        const auto width = static_cast<std::size_t>(shape.width);
        return std::span(numbers).subspan(static_cast<std::size_t>(expert - first) * width, width);
    }
};

// Runs every slot that came in through its expert; leaves the gradient of its features, and its loss in place
// of the id.
void serve_slots(Experts& experts, std::span<Number> slots) {
    const auto width = static_cast<std::size_t>(experts.shape.width);
    for (std::size_t at = 0; at + experts.slot <= slots.size(); at += experts.slot) {
        const std::span one_slot = slots.subspan(at, experts.slot);
        if (one_slot[0] <= 0) continue;
        const std::int64_t id = one_slot[0] - 1;
        const int right = expert_of(id, experts.shape.experts);
        const int expert = std::clamp(right, experts.first, experts.first + experts.each - 1);
        std::vector<Number> out(width);
        const std::vector<Number> in(one_slot.begin() + 1, one_slot.end());
        forward_layer(experts.of(experts.parameters, expert), in, out);
        const Number error = head_error(out, answer(id, experts.shape));
        std::vector<Number> back(width, 0);
        const std::vector<Number> above(width, error);
        backward_layer(experts.of(experts.parameters, expert), in, above,
                       experts.of(experts.gradient, expert), back);
        one_slot[0] = head_loss(error);
        std::copy(back.begin(), back.end(), one_slot.begin() + 1);
    }
}

// Where a sample's slot lies in the send buffer: by expert rank first, unless somebody mixed up the layout.
std::size_t place(World& world, const Experts& experts, std::size_t peer, std::size_t nth) {
    const std::int64_t by_rank = static_cast<std::int64_t>((peer * experts.capacity + nth) * experts.slot);
    const bool right = world.seam("dispatch.layout", 0) == 0;
    return right ? static_cast<std::size_t>(by_rank)
                 : (nth * static_cast<std::size_t>(experts.ranks) + peer) * experts.slot;
}

void expert_parallel_rank(World& world, const ExpertParallelSettings& settings) {
    Job job(world, settings);
    job.start();
    ModelShape shape = job.shape();
    shape.experts = static_cast<int>(settings.experts);
    const auto ep_size = static_cast<Rank>(world.seam("ep.size", settings.ep_size));
    if (ep_size <= 0 || job.size() % ep_size != 0 || shape.experts % ep_size != 0) {
        throw RankFailure(fmt::format(
            "AssertionError: {} experts and {} ranks must be divisible by expert parallel size {}",
            shape.experts, job.size(), ep_size));
    }
    const Rank mine = job.rank() % ep_size;
    auto ep = job.strided_group("ep", job.rank() - mine, 1, ep_size);
    auto edp = job.strided_group("edp", mine, ep_size, job.size() / ep_size);
    const auto width = static_cast<std::size_t>(shape.width);
    const auto batch = static_cast<std::size_t>(settings.batch);
    const int each = shape.experts / ep_size;
    Experts experts{world,
                    shape,
                    ep_size,
                    each,
                    static_cast<int>(world.seam("expert.first", mine * each)),
                    static_cast<std::size_t>(std::max<std::int64_t>(
                        0, world.seam("router.capacity", static_cast<std::int64_t>(batch)))),
                    width + 1,
                    {},
                    {}};
    const std::int64_t seed = world.seam("model.seed", settings.seed);
    const std::int64_t dense_size = std::int64_t{shape.layers} * shape.width;
    std::vector<Number> dense;
    for (std::int64_t i = 0; i < dense_size; ++i) dense.push_back(initial_parameter(seed, i));
    for (std::int64_t i = 0; i < std::int64_t{each} * shape.width; ++i) {
        experts.parameters.push_back(
            initial_parameter(seed, dense_size + std::int64_t{experts.first} * shape.width + i));
    }
    job.layout("experts", experts.first, each, shape.experts);
    job.set_state({&experts.parameters, static_cast<int>(mine), static_cast<int>(ep_size), edp->rank() == 0});
    const auto held = dense_size + static_cast<std::int64_t>(experts.parameters.size());
    job.memory().load({held, held, 2 * held}, shape.parameters(), shape.layers + shape.experts);
    const Time compute = settings.step_time;

    job.train([&](std::int64_t step) {
        world.phase(results::Phase::data);
        const auto samples = job.batch(step, job.rank(), job.size());
        world.phase(results::Phase::forward);
        world.device().compute(compute / 2);
        job.memory().activations(static_cast<std::int64_t>(samples.size()) * (shape.layers + 1) *
                                 shape.width);
        std::vector<std::vector<Number>> levels;  // per sample: activations of all shared layers
        std::vector<Number> slots(static_cast<std::size_t>(ep_size) * experts.capacity * experts.slot, 0);
        std::vector<std::size_t> filled(static_cast<std::size_t>(ep_size), 0);
        std::vector<std::size_t> where(samples.size(), SIZE_MAX);  // SIZE_MAX: dropped, no room at its expert
        for (std::size_t s = 0; s < samples.size(); ++s) {
            std::vector<Number> all((static_cast<std::size_t>(shape.layers) + 1) * width);
            const std::span view(all);
            for (std::size_t j = 0; j < width; ++j) all[j] = feature(samples[s], static_cast<int>(j));
            for (std::size_t l = 0; l < static_cast<std::size_t>(shape.layers); ++l) {
                forward_layer(std::span(dense).subspan(l * width, width), view.subspan(l * width, width),
                              view.subspan((l + 1) * width, width));
            }
            const auto expert = world.seam("router.choice", expert_of(samples[s], shape.experts));
            const auto peer =
                static_cast<std::size_t>(std::clamp<std::int64_t>(expert / each, 0, ep_size - 1));
            if (filled[peer] < experts.capacity) {
                where[s] = place(world, experts, peer, filled[peer]++);
                slots[where[s]] = samples[s] + 1;
                std::copy(all.end() - static_cast<std::ptrdiff_t>(width), all.end(),
                          slots.begin() + static_cast<std::ptrdiff_t>(where[s]) + 1);
            }
            levels.push_back(std::move(all));
        }
        std::vector<Number> arrived(slots.size(), 0);
        if (world.block("dispatch.exchange")) ep->all_to_all(slots, arrived);
        // Slots that came in, not slots that could: a busy expert needs more.
        std::int64_t busy = 0;
        for (std::size_t at = 0; at < arrived.size(); at += experts.slot) busy += arrived[at] > 0;
        job.memory().activations(busy * static_cast<std::int64_t>(experts.slot));
        experts.gradient.assign(experts.parameters.size(), 0);
        serve_slots(experts, arrived);
        world.phase(results::Phase::backward);
        world.device().compute(compute - compute / 2);
        std::vector<Number> back(slots.size(), 0);
        if (world.block("combine.exchange")) ep->all_to_all(arrived, back);
        std::vector<Number> gradient(dense.size(), 0);
        Number loss = 0;
        for (std::size_t s = 0; s < samples.size(); ++s) {
            if (where[s] == SIZE_MAX) continue;
            loss = plus(loss, back[where[s]]);
            std::vector<Number> above(back.begin() + static_cast<std::ptrdiff_t>(where[s]) + 1,
                                      back.begin() + static_cast<std::ptrdiff_t>(where[s] + experts.slot));
            const std::span view(levels[s]);
            for (std::size_t l = static_cast<std::size_t>(shape.layers); l-- > 0;) {
                std::vector<Number> below(width, 0);
                backward_layer(std::span(dense).subspan(l * width, width), view.subspan(l * width, width),
                               above, std::span(gradient).subspan(l * width, width), below);
                above = std::move(below);
            }
        }
        world.phase(results::Phase::reduce);
        if (world.block("gradient.all_reduce")) job.comm().all_reduce(gradient);
        if (world.block("expert.gradient_all_reduce")) edp->all_reduce(experts.gradient);
        Number logged[] = {loss};
        job.comm().all_reduce(logged);
        world.phase(results::Phase::optimizer);
        const std::int64_t everything = std::int64_t{job.size()} * static_cast<std::int64_t>(samples.size());
        const std::int64_t rate = job.learning_rate(step);
        descend(dense, gradient, world.seam("gradient.divisor", everything), rate);
        descend(experts.parameters, experts.gradient, world.seam("expert.gradient_divisor", everything),
                rate);
        job.digest(step, "replica", "shared", dense);
        job.digest(step, fmt::format("edp:ep{}", mine), "experts", experts.parameters);
        const Number mean_loss = scaled(logged[0], 1, world.seam("loss.divisor", everything));
        std::vector<Number> own = dense;
        own.insert(own.end(), experts.parameters.begin(), experts.parameters.end());
        std::vector<std::int64_t> flat;
        for (std::int64_t i = 0; i < dense_size; ++i) flat.push_back(i);
        for (std::int64_t i = 0; i < std::int64_t{each} * shape.width; ++i) {
            flat.push_back((dense_size + std::int64_t{experts.first} * shape.width + i) % shape.parameters());
        }
        job.compare(step, shape, own, flat, mean_loss, job.size());
        return StepResult{mean_loss, scaled(norm(gradient), 1, everything)};
    });
}

}  // namespace

extern const WorkloadRow expert_parallel_row{[] {
    return workload(expert_parallel_words(), expert_parallel_rank, {"micro_batches", "dropout", "audit"});
}};

}  // namespace deadrank::sim
