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
    add_backward_phase(kind);
    leave_out(kind, {"rng."});
    return kind;
}

// The experts of one rank, and the slots in which tokens travel to them.
struct Experts {
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
    // Where they begin in the flat model: behind the shared layers.
    std::int64_t begin() const { return (std::int64_t{shape.layers} + first) * shape.width; }
    std::int64_t count() const { return std::int64_t{each} * shape.width; }
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

// Where a sample's slot lies in the send buffer: by expert rank first, unless a fault mixes up the layout.
std::size_t place(World& world, const Experts& experts, std::size_t peer, std::size_t nth) {
    const std::int64_t by_rank = static_cast<std::int64_t>((peer * experts.capacity + nth) * experts.slot);
    const bool right = world.seam("dispatch.layout", 0) == 0;
    return right ? static_cast<std::size_t>(by_rank)
                 : (nth * static_cast<std::size_t>(experts.ranks) + peer) * experts.slot;
}

Rank expert_group_size(Job& job, const ExpertParallelSettings& settings) {
    const auto size = static_cast<Rank>(job.world().seam("ep.size", settings.ep_size));
    if (size <= 0 || job.size() % size != 0 || settings.experts % size != 0) {
        throw RankFailure(fmt::format(
            "AssertionError: {} experts and {} ranks must be divisible by expert parallel size {}",
            settings.experts, job.size(), size));
    }
    return size;
}

// What a step hands from phase to phase.
struct RoutedStep {
    std::vector<std::int64_t> samples;
    std::vector<std::vector<Number>> levels;  // per sample: activations of all shared layers
    std::vector<std::size_t> where;           // per sample: its slot; SIZE_MAX: dropped, its expert is full
    std::vector<Number> slots;                // to the experts
    std::vector<Number> arrived;              // at this rank's experts
    std::vector<Number> gradient;             // of the shared layers
    Number loss = 0;
};

// A rank's shared layers and experts, and the phases of its step.
class ExpertParallelRank {
public:
    ExpertParallelRank(Job& job, const ExpertParallelSettings& settings)
        : job_(job),
          world_(job.world()),
          settings_(settings),
          shape_(job.shape(settings.experts)),
          width_(static_cast<std::size_t>(shape_.width)),
          layers_(static_cast<std::size_t>(shape_.layers)),
          ep_size_(expert_group_size(job, settings)),
          place_(job.rank() % ep_size_),
          ep_(job.strided_group("ep", job.rank() - place_, 1, ep_size_)),
          edp_(job.strided_group("edp", place_, ep_size_, job.size() / ep_size_)),
          experts_(own_experts()) {
        draw_parameters();
        job.layout("experts", experts_.first, experts_.each, shape_.experts);
        job.set_state(
            {&experts_.parameters, static_cast<int>(place_), static_cast<int>(ep_size_), edp_->rank() == 0});
        const auto held = static_cast<std::int64_t>(dense_.size() + experts_.parameters.size());
        job.memory().load({held, held, 2 * held}, shape_.parameters(), shape_.layers + shape_.experts);
    }

    StepResult step(std::int64_t number) {
        world_.phase(results::Phase::data);
        RoutedStep step = begin(number);
        world_.phase(results::Phase::forward);
        forward(step);
        exchange(step);
        world_.phase(results::Phase::backward);
        backward(step);
        world_.phase(results::Phase::reduce);
        const Number sum_of_losses = reduce(step);
        world_.phase(results::Phase::optimizer);
        update(number, step);
        return show(number, step, sum_of_losses);
    }

private:
    Experts own_experts() const {
        const int each = shape_.experts / ep_size_;
        const auto first = static_cast<int>(world_.seam("expert.first", place_ * each));
        const std::int64_t capacity = world_.seam("router.capacity", settings_.batch);
        return {.shape = shape_,
                .ranks = ep_size_,
                .each = each,
                .first = first,
                .capacity = static_cast<std::size_t>(std::max<std::int64_t>(0, capacity)),
                .slot = width_ + 1,
                .parameters = {},
                .gradient = {}};
    }

    void draw_parameters() {
        const std::int64_t seed = world_.seam("model.seed", settings_.seed);
        const std::int64_t shared = std::int64_t{shape_.layers} * shape_.width;
        for (std::int64_t i = 0; i < shared; ++i) dense_.push_back(initial_parameter(seed, i));
        for (std::int64_t i = 0; i < experts_.count(); ++i)
            experts_.parameters.push_back(initial_parameter(seed, experts_.begin() + i));
    }

    RoutedStep begin(std::int64_t number) {
        RoutedStep step;
        step.samples = job_.batch(number, job_.rank(), job_.size());
        step.where.assign(step.samples.size(), SIZE_MAX);
        step.slots.assign(static_cast<std::size_t>(ep_size_) * experts_.capacity * experts_.slot, 0);
        step.arrived.assign(step.slots.size(), 0);
        step.gradient.assign(dense_.size(), 0);
        return step;
    }

    // Through the shared layers, and into a slot of the expert that the router chooses.
    void forward(RoutedStep& step) {
        world_.device().compute(settings_.step_time / 2);
        job_.memory().activations(std::ssize(step.samples) * (shape_.layers + 1) * shape_.width);
        std::vector<std::size_t> filled(static_cast<std::size_t>(ep_size_), 0);
        for (std::size_t s = 0; s < step.samples.size(); ++s) {
            step.levels.push_back(shared_layers(step.samples[s]));
            const auto expert = world_.seam("router.choice", expert_of(step.samples[s], shape_.experts));
            const auto peer =
                static_cast<std::size_t>(std::clamp<std::int64_t>(expert / experts_.each, 0, ep_size_ - 1));
            if (filled[peer] >= experts_.capacity) continue;
            step.where[s] = place(world_, experts_, peer, filled[peer]++);
            const auto slot = std::span(step.slots).subspan(step.where[s], experts_.slot);
            slot[0] = step.samples[s] + 1;
            std::copy_n(step.levels[s].end() - static_cast<std::ptrdiff_t>(width_), width_, slot.begin() + 1);
        }
    }

    std::vector<Number> shared_layers(std::int64_t sample) const {
        std::vector<Number> all((layers_ + 1) * width_);
        const std::span view(all);
        for (std::size_t j = 0; j < width_; ++j) all[j] = feature(sample, static_cast<int>(j));
        for (std::size_t l = 0; l < layers_; ++l) {
            forward_layer(std::span(dense_).subspan(l * width_, width_), view.subspan(l * width_, width_),
                          view.subspan((l + 1) * width_, width_));
        }
        return all;
    }

    // Tokens go to their experts, which compute at once what goes back.
    void exchange(RoutedStep& step) {
        if (world_.block("dispatch.exchange")) ep_->all_to_all(step.slots, step.arrived);
        // Slots that came in, not slots that could: a busy expert needs more.
        std::int64_t busy = 0;
        for (std::size_t at = 0; at < step.arrived.size(); at += experts_.slot) busy += step.arrived[at] > 0;
        job_.memory().activations(busy * static_cast<std::int64_t>(experts_.slot));
        experts_.gradient.assign(experts_.parameters.size(), 0);
        serve_slots(experts_, step.arrived);
    }

    void backward(RoutedStep& step) {
        world_.device().compute(settings_.step_time - settings_.step_time / 2);
        std::vector<Number> back(step.slots.size(), 0);
        if (world_.block("combine.exchange")) ep_->all_to_all(step.arrived, back);
        for (std::size_t s = 0; s < step.samples.size(); ++s) {
            if (step.where[s] == SIZE_MAX) continue;
            const auto slot = std::span(back).subspan(step.where[s], experts_.slot);
            step.loss = plus(step.loss, slot[0]);
            std::vector<Number> above(slot.begin() + 1, slot.end());
            const std::span view(step.levels[s]);
            for (std::size_t l = layers_; l-- > 0;) {
                std::vector<Number> below(width_, 0);
                backward_layer(std::span(dense_).subspan(l * width_, width_),
                               view.subspan(l * width_, width_), above,
                               std::span(step.gradient).subspan(l * width_, width_), below);
                above = std::move(below);
            }
        }
    }

    Number reduce(RoutedStep& step) {
        if (world_.block("gradient.all_reduce")) job_.comm().all_reduce(step.gradient);
        if (world_.block("expert.gradient_all_reduce")) edp_->all_reduce(experts_.gradient);
        Number logged[] = {step.loss};
        job_.comm().all_reduce(logged);
        return logged[0];
    }

    std::int64_t samples_of_all(const RoutedStep& step) const {
        return job_.size() * std::ssize(step.samples);
    }

    void update(std::int64_t number, const RoutedStep& step) {
        const std::int64_t everything = samples_of_all(step);
        const std::int64_t rate = job_.learning_rate(number);
        descend(dense_, step.gradient, world_.seam("gradient.divisor", everything), rate);
        descend(experts_.parameters, experts_.gradient, world_.seam("expert.gradient_divisor", everything),
                rate);
    }

    StepResult show(std::int64_t number, const RoutedStep& step, Number sum_of_losses) {
        job_.digest(number, "replica", "shared", dense_);
        job_.digest(number, fmt::format("edp:ep{}", place_), "experts", experts_.parameters);
        const std::int64_t everything = samples_of_all(step);
        const Number mean_loss = scaled(sum_of_losses, 1, world_.seam("loss.divisor", everything));
        std::vector<Number> own = dense_;
        own.insert(own.end(), experts_.parameters.begin(), experts_.parameters.end());
        std::vector<std::int64_t> flat;
        for (std::int64_t i = 0; i < std::ssize(dense_); ++i) flat.push_back(i);
        for (std::int64_t i = 0; i < experts_.count(); ++i)
            flat.push_back((experts_.begin() + i) % shape_.parameters());
        job_.compare(number, shape_, own, flat, mean_loss, job_.size());
        return {mean_loss, scaled(norm(step.gradient), 1, everything)};
    }

    Job& job_;
    World& world_;
    const ExpertParallelSettings& settings_;
    ModelShape shape_;
    std::size_t width_;
    std::size_t layers_;
    Rank ep_size_;
    Rank place_;                 // in the expert-parallel group
    std::unique_ptr<Comm> ep_;   // ranks that hold other experts
    std::unique_ptr<Comm> edp_;  // ranks that hold the same experts
    Experts experts_;
    std::vector<Number> dense_;  // the shared layers
};

void expert_parallel_rank(World& world, const ExpertParallelSettings& settings) {
    Job job(world, settings);
    job.start();
    ExpertParallelRank rank(job, settings);
    job.train([&](std::int64_t step) { return rank.step(step); });
}

}  // namespace

extern const WorkloadRow expert_parallel_row{[] {
    return workload(expert_parallel_words(), expert_parallel_rank, {"micro_batches", "dropout", "audit"});
}};

}  // namespace deadrank::sim
