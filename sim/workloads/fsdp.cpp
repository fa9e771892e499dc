// sim/workloads/fsdp.cpp — Every layer in shards of its own: gathered just before use, the next one
// prefetched, gradients reduce-scattered behind. A last layer may be split into experts, of which a sample
// takes one: whether a rank gathers those that its own samples do not need is a question all must answer
// alike.
#include <algorithm>
#include <fmt/format.h>
#include <memory>
#include <vector>

#include "sim/framework_parts/tensor_checks.h"
#include "sim/workloads/job.h"
#include "sim/workloads/step_share.h"
#include "sim/workloads/workload_catalog.h"

namespace deadrank::sim {

namespace {

enum class SampleLengths { equal, long_tail };

struct FsdpSettings : JobSettings {
    using JobSettings::JobSettings;
    static constexpr bool takes_branches = true;

    bool prefetch = flag("prefetch", "true", "gather the next layer while this one computes");
    std::int64_t mixture = integer("mixture", "0", "experts of a last layer; 0 = none");
    SampleLengths lengths = choice<SampleLengths>(
        "lengths", "equal", "how long samples are: alike, or one in eight six times as long",
        {"equal", "long_tail"});
    std::int64_t align =
        integer("align", "",
                "a rank's part of a layer is filled up to a multiple of so many elements; absent = 1", 1);
    bool read_data =
        flag("read_data", "false", "read each step's samples from storage, trying again when that fails");
};

scenarios::Kind fsdp_words() {
    scenarios::Kind kind = job_words(
        "fsdp", "fully sharded data parallel: per-layer gather with prefetch, reduce-scatter behind");
    for (const char* seam :
         {"shard.offset", "gradient.divisor", "loss.divisor", "prefetch.layer", "sampler.balance",
          "sharding.size", "gather.output", "gather.type", "scatter.input", "scatter.type"}) {
        kind.seams.emplace_back(seam);
    }
    for (const char* block : {"gradient.reduce_scatter", "reduce.wait", "parameters.reshard",
                              "experts.gather_all"}) {
        kind.blocks.emplace_back(block);
    }
    add_backward_phase(kind);
    leave_out(kind, {"group."});  // it makes none beside the world
    add_loading_words(kind);
    add_clip_words(kind);
    return kind;
}

constexpr Number leftover = one << 20;

class Layers {
public:
    Layers(Job& job, std::vector<Number>& mine, std::size_t each, std::size_t count)
        : job_(job), mine_(mine), each_(each), whole_(count), work_(count) {}

    void prefetch(std::size_t layer) {
        const auto seam = job_.world().seam("prefetch.layer", static_cast<std::int64_t>(layer));
        fetch(static_cast<std::size_t>(std::max<std::int64_t>(0, seam)) % whole_.size());
    }

    std::span<const Number> get(std::size_t layer) {
        fetch(layer);
        work_[layer]->wait();
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
    void fetch(std::size_t layer) {
        if (work_[layer]) return;
        // Fresh memory holds what its last user left there.
        whole_[layer].assign(each_ * static_cast<std::size_t>(job_.size()), leftover);
        held_.push_back(job_.memory().take(job_.shape().layer_width()));
        check_gather(job_.world(), job_.comm(), static_cast<std::int64_t>(each_), std::ssize(whole_[layer]));
        work_[layer] =
            job_.comm().all_gather_async(std::span(mine_).subspan(layer * each_, each_), whole_[layer]);
    }

    Job& job_;
    std::vector<Number>& mine_;
    std::size_t each_;
    std::vector<std::vector<Number>> whole_;
    std::vector<std::unique_ptr<Work>> work_;
    std::vector<std::int64_t> held_;  // device memory of gathered layers
};

// Flat index of each own parameter, and its place among the numbers that this rank holds.
struct OwnParameters {
    std::vector<Number> numbers;
    std::vector<std::int64_t> where;
    std::vector<std::size_t> at;
};

OwnParameters cut_own(Job& job, const ModelShape& shape, std::size_t each) {
    World& world = job.world();
    const std::int64_t offset = world.seam("shard.offset", static_cast<std::int64_t>(each) * job.rank());
    const std::int64_t seed = world.seam("model.seed", job.settings().seed);
    const auto modules = static_cast<std::size_t>(shape.layers + shape.experts);
    OwnParameters own;
    own.numbers.assign(modules * each, 0);
    for (std::size_t m = 0; m < modules; ++m) {
        for (std::size_t j = 0; j < each; ++j) {
            const std::int64_t column = offset + static_cast<std::int64_t>(j);
            if (column < 0 || column >= shape.width) continue;  // padding
            own.where.push_back(static_cast<std::int64_t>(m) * shape.width + column);
            own.at.push_back(m * each + j);
            own.numbers[own.at.back()] = initial_parameter(seed, own.where.back());
        }
    }
    if (job.settings().saved_ranks > 0) {
        std::vector<Number> flat = initial_parameters(job.shape(), seed);
        job.load_saved(flat);
        for (std::size_t i = 0; i < own.where.size(); ++i) {  // experts are not in that checkpoint
            const auto place = static_cast<std::size_t>(own.where[i]);
            if (place < flat.size()) own.numbers[own.at[i]] = flat[place];
        }
    }
    job.layout("layer.flat", offset,
               std::clamp<std::int64_t>(shape.width - offset, 0, static_cast<std::int64_t>(each)),
               shape.width);
    return own;
}

// How much longer than usual a step takes with these samples: one in eight is six times as long. A balanced
// sampler gives every rank the same amount.
std::int64_t work_permille(World& world, const FsdpSettings& settings,
                           const std::vector<std::int64_t>& samples) {
    if (settings.lengths == SampleLengths::equal || world.seam("sampler.balance", 1) != 0) return 1000;
    constexpr std::int64_t long_one_in = 8, long_factor = 6;
    std::int64_t length = 0;
    for (const std::int64_t id : samples) {
        const Number key[] = {id};
        length += digest_of(key) % static_cast<std::uint64_t>(long_one_in) == 0 ? long_factor : 1;
    }
    return length * long_one_in * 1000 /
           (static_cast<std::int64_t>(samples.size()) * (long_one_in - 1 + long_factor));
}

// A read that fails is tried again: one bad answer of a busy file server ends no job, but all ranks wait.
class FsdpSamples {
public:
    FsdpSamples(Job& job, bool reads)
        : job_(job), reads_(reads), path_(fmt::format("data/part{}", job.rank())) {
        if (!reads_) return;
        const Number content[] = {job.rank()};
        job_.world().storage().write(path_, content);
    }

    void read() {
        if (!reads_) return;
        std::vector<Number> content;
        for (int tried = 1; job_.world().storage().read(path_, content) != Code::ok; ++tried) {
            if (tried == tries)
                throw RankFailure(fmt::format("OSError: [Errno 5] Input/output error: '{}'", path_));
            job_.world().log(
                fmt::format("WARNING: reading {} failed, retrying in 2 s ({}/{})", path_, tried, tries), 1);
            job_.world().timer().sleep(pause);
        }
    }

private:
    static constexpr int tries = 5;
    static constexpr Time pause{2'000'000'000};
    Job& job_;
    bool reads_;
    std::string path_;
};

// What a step hands from phase to phase.
struct FsdpStep {
    std::int64_t number;
    std::int64_t samples;  // of this rank
    std::int64_t permille;
    ModulePass pass;
    bool gathers_all;
    std::vector<std::vector<Number>> gradients;  // of each module; reductions read them
    std::vector<Number> reduced;
    std::vector<std::unique_ptr<Work>> pending;
};

// Elements of one layer that a rank holds: an equal part, filled up.
std::size_t part_of(int width, Rank ranks, std::int64_t align) {
    const std::int64_t to = std::max<std::int64_t>(1, align), exact = (width + ranks - 1) / ranks;
    return static_cast<std::size_t>((exact + to - 1) / to * to);
}

// A rank's shard of every module, and the phases of its step.
class FsdpRank {
public:
    FsdpRank(Job& job, const FsdpSettings& settings)
        : job_(job),
          world_(job.world()),
          settings_(settings),
          shape_(job.shape(settings.mixture)),
          layers_(static_cast<std::size_t>(shape_.layers)),
          modules_(layers_ + static_cast<std::size_t>(settings.mixture)),
          each_(part_of(shape_.width, job.size(), settings.align)),
          own_(load_own()),
          gathered_(job, own_.numbers, each_, modules_),
          data_(job, settings.read_data) {
        job.set_state({&own_.numbers, static_cast<int>(job.rank()), static_cast<int>(job.size()), true});
    }

    StepResult step(std::int64_t number) {
        world_.phase(results::Phase::data);
        FsdpStep step = begin(number);
        world_.phase(results::Phase::forward);
        const Number loss = forward(step);
        world_.phase(results::Phase::backward);
        backward(step);
        world_.phase(results::Phase::reduce);
        const Number sum_of_losses = reduce(step, loss);
        world_.phase(results::Phase::optimizer);
        return update(step, sum_of_losses);
    }

private:
    OwnParameters load_own() {
        OwnParameters own = cut_own(job_, shape_, each_);
        const auto modules = static_cast<std::int64_t>(modules_);
        const std::int64_t sharing = job_.memory().sharing(job_.size());
        const std::int64_t part = modules * ((shape_.width + sharing - 1) / sharing);
        job_.memory().load({part, part, 2 * part}, shape_.parameters(), modules);
        return own;
    }

    FsdpStep begin(std::int64_t number) {
        data_.read();
        const auto samples = job_.batch(number, job_.rank(), job_.size());
        const std::int64_t permille = work_permille(world_, settings_, samples);
        ModulePass pass(shape_, samples, job_.dropout(number, job_.rank(), samples.size()));
        return {
            .number = number,
            .samples = std::ssize(samples),
            .permille = permille,
            .pass = std::move(pass),
            .gathers_all = (shape_.experts == 0 && shape_.branch == 0) || world_.block("experts.gather_all"),
            .gradients = std::vector<std::vector<Number>>(modules_),
            .reduced = std::vector<Number>(modules_ * each_, 0),
            .pending = {}};
    }

    bool runs(const FsdpStep& step, std::size_t module) const {
        return step.gathers_all || step.pass.needs(module);
    }

    void compute(const FsdpStep& step, std::size_t module, int times) {
        if (module >= layers_) return;  // experts cost nothing beside the layers
        const Time per_layer = settings_.step_time / (3 * shape_.layers);
        world_.device().compute(per_layer * times * step.permille / 1000);
    }

    Number forward(FsdpStep& step) {
        job_.memory().activations(step.pass.activations());
        for (std::size_t m = 0; m < modules_; ++m) {
            step.pass.skip_module(m);
            if (!runs(step, m)) continue;
            const auto parameters = gathered_.get(m);
            if (settings_.prefetch && m + 1 < layers_ && runs(step, m + 1)) gathered_.prefetch(m + 1);
            compute(step, m, 1);
            step.pass.forward(m, parameters);
        }
        return step.pass.loss();
    }

    // Each gradient is on its way to its owners while the layers below still compute.
    void backward(FsdpStep& step) {
        for (std::size_t m = modules_; m-- > 0;) {
            if (!runs(step, m)) continue;
            const auto parameters = gathered_.get(m);
            compute(step, m, 2);
            std::vector<Number>& gradient = step.gradients[m];
            gradient.assign(static_cast<std::size_t>(shape_.width), 0);
            step.pass.backward(m, parameters, gradient);
            gradient.resize(each_ * static_cast<std::size_t>(job_.size()), 0);
            if (!world_.block("gradient.reduce_scatter")) continue;
            check_scatter(world_, job_.comm(), std::ssize(gradient), static_cast<std::int64_t>(each_));
            step.pending.push_back(job_.comm().reduce_scatter_async(
                gradient, std::span(step.reduced).subspan(m * each_, each_)));
        }
    }

    Number reduce(FsdpStep& step, Number loss) {
        if (world_.block("reduce.wait")) {
            for (auto& work : step.pending) work->wait();
        }
        Number logged[] = {loss};
        job_.comm().all_reduce(logged);
        return logged[0];
    }

    // By the norm over all ranks' parts.
    void clip(std::vector<Number>& reduced, std::int64_t everything) {
        if (settings_.clip == 0) return;
        Number sum[] = {squares(reduced)};
        job_.comm().all_reduce(sum);
        clip_to(reduced, world_.seam("clip.norm", scaled(root(sum[0]), 1, everything)), settings_.clip);
    }

    StepResult update(FsdpStep& step, Number sum_of_losses) {
        const std::int64_t everything = job_.size() * step.samples;
        clip(step.reduced, everything);
        descend(own_.numbers, step.reduced, world_.seam("gradient.divisor", everything),
                job_.learning_rate(step.number));
        for (auto& work : step.pending) work->wait();
        if (world_.block("parameters.reshard")) gathered_.reshard();
        std::vector<Number> shown;
        for (const std::size_t at : own_.at) shown.push_back(own_.numbers[at]);
        const Number mean_loss = scaled(sum_of_losses, 1, world_.seam("loss.divisor", everything));
        job_.compare(step.number, shape_, shown, own_.where, mean_loss, job_.size());
        return {mean_loss, scaled(norm(step.reduced), 1, everything)};
    }

    Job& job_;
    World& world_;
    const FsdpSettings& settings_;
    ModelShape shape_;
    std::size_t layers_;
    std::size_t modules_;  // layers and experts
    std::size_t each_;     // numbers of a module on each rank
    OwnParameters own_;
    Layers gathered_;
    FsdpSamples data_;
};

void fsdp_rank(World& world, const FsdpSettings& settings) {
    Job job(world, settings);
    job.start();
    FsdpRank rank(job, settings);
    job.train([&](std::int64_t step) { return rank.step(step); });
}

}  // namespace

extern const WorkloadRow fsdp_row{[] {
    return workload(fsdp_words(), fsdp_rank, {"micro_batches", "audit", "groups"});
}};

}  // namespace deadrank::sim
