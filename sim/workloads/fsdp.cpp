// sim/workloads/fsdp.cpp — Every layer in shards of its own: gathered just before use, the next one
// prefetched, gradients reduce-scattered behind. A last layer may be split into experts, of which a sample
// takes one: whether a rank gathers those that its own samples do not need is a question all must answer
// alike.
#include <algorithm>
#include <fmt/format.h>
#include <memory>
#include <vector>

#include "sim/parts/tensor_checks.h"
#include "sim/workloads/job.h"
#include "sim/workloads/step_share.h"
#include "sim/workloads/workload_catalog.h"

namespace deadrank::sim {

namespace {

enum class SampleLengths { equal, long_tail };

struct FsdpSettings : JobSettings {
    using JobSettings::JobSettings;

    bool prefetch = flag("prefetch", "true", "gather the next layer while this one computes");
    std::int64_t mixture = integer("mixture", "0", "experts of a last layer; 0 = none");
    SampleLengths lengths = choice<SampleLengths>(
        "lengths", "equal", "how long samples are: alike, or one in eight six times as long",
        {"equal", "long_tail"});
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
    for (const char* block : {"gather.wait", "gradient.reduce_scatter", "reduce.wait", "parameters.reshard",
                              "experts.gather_all"}) {
        kind.blocks.emplace_back(block);
    }
    return kind;
}

constexpr Number leftover = one << 20;

class Layers {
public:
    Layers(Job& job, std::vector<Number>& mine, std::size_t each, std::size_t count, bool ahead)
        : job_(job), mine_(mine), each_(each), ahead_(ahead), whole_(count), work_(count) {}

    void prefetch(std::size_t layer) {
        const auto seam = job_.world().seam("prefetch.layer", static_cast<std::int64_t>(layer));
        fetch(static_cast<std::size_t>(std::max<std::int64_t>(0, seam)) % whole_.size());
    }

    std::span<const Number> get(std::size_t layer) {
        fetch(layer);
        // What is gathered only when it is needed is gathered by a call that returns with it.
        if (!ahead_ || job_.world().block("gather.wait")) work_[layer]->wait();
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
        // Fresh memory holds what somebody left there.
        whole_[layer].assign(each_ * static_cast<std::size_t>(job_.size()), leftover);
        held_.push_back(job_.memory().take(job_.shape().layer_width()));
        check_gather(job_.world(), job_.comm(), static_cast<std::int64_t>(each_), std::ssize(whole_[layer]));
        work_[layer] =
            job_.comm().all_gather_async(std::span(mine_).subspan(layer * each_, each_), whole_[layer]);
    }

    Job& job_;
    std::vector<Number>& mine_;
    std::size_t each_;
    bool ahead_;
    std::vector<std::vector<Number>> whole_;
    std::vector<std::unique_ptr<Work>> work_;
    std::vector<std::int64_t> held_;  // device memory of gathered layers
};

// Flat index of each own parameter, and its place among the numbers that this rank holds.
struct Own {
    std::vector<Number> numbers;
    std::vector<std::int64_t> where;
    std::vector<std::size_t> at;
};

Own cut_own(Job& job, const ModelShape& shape, std::size_t each) {
    World& world = job.world();
    const std::int64_t offset = world.seam("shard.offset", static_cast<std::int64_t>(each) * job.rank());
    const std::int64_t seed = world.seam("model.seed", job.settings().seed);
    const auto modules = static_cast<std::size_t>(shape.layers + shape.experts);
    Own own;
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

// A read that fails is tried again: one bad answer of a busy file server ends no job, but everybody waits.
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

void fsdp_rank(World& world, const FsdpSettings& settings) {
    Job job(world, settings);
    job.start();
    ModelShape shape = job.shape();
    shape.experts = static_cast<int>(settings.mixture);
    const auto layers = static_cast<std::size_t>(shape.layers);
    const std::size_t modules = layers + static_cast<std::size_t>(shape.experts);
    const auto width = static_cast<std::size_t>(shape.width);
    const std::size_t each =
        (width + static_cast<std::size_t>(job.size()) - 1) / static_cast<std::size_t>(job.size());
    Own own = cut_own(job, shape, each);
    job.set_state({&own.numbers, static_cast<int>(job.rank()), static_cast<int>(job.size()), true});
    const std::int64_t sharing = job.memory().sharing(job.size());
    const std::int64_t part = static_cast<std::int64_t>(modules) * ((shape.width + sharing - 1) / sharing);
    job.memory().load({part, part, 2 * part}, shape.parameters(), static_cast<std::int64_t>(modules));
    Layers gathered(job, own.numbers, each, modules, settings.prefetch);
    FsdpSamples data(job, settings.read_data);
    const bool prefetch = settings.prefetch;
    const Time per_layer = settings.step_time / (3 * shape.layers);

    job.train([&](std::int64_t step) {
        world.phase(results::Phase::data);
        data.read();
        const auto samples = job.batch(step, job.rank(), job.size());
        const std::int64_t permille = work_permille(world, settings, samples);
        ModulePass pass(shape, samples, job.dropout(step, job.rank(), samples.size()));
        const bool gather_all = shape.experts == 0 || world.block("experts.gather_all");
        const auto wanted = [&](std::size_t module) {
            return module < layers || gather_all || pass.needs(module);
        };
        world.phase(results::Phase::forward);
        job.memory().activations(pass.activations());
        for (std::size_t m = 0; m < modules; ++m) {
            if (!wanted(m)) continue;
            const auto parameters = gathered.get(m);
            if (prefetch && m + 1 < layers) gathered.prefetch(m + 1);
            if (m < layers) world.device().compute(per_layer * permille / 1000);
            pass.forward(m, parameters);
        }
        const Number loss = pass.loss();
        world.phase(results::Phase::backward);
        std::vector<std::vector<Number>> gradients(modules);
        std::vector<Number> reduced(modules * each, 0);
        std::vector<std::unique_ptr<Work>> pending;
        for (std::size_t m = modules; m-- > 0;) {
            if (!wanted(m)) continue;
            const auto parameters = gathered.get(m);
            if (m < layers) world.device().compute(per_layer * 2 * permille / 1000);
            gradients[m].assign(width, 0);
            pass.backward(m, parameters, gradients[m]);
            gradients[m].resize(each * static_cast<std::size_t>(job.size()), 0);
            if (!world.block("gradient.reduce_scatter")) continue;
            check_scatter(world, job.comm(), std::ssize(gradients[m]), static_cast<std::int64_t>(each));
            pending.push_back(
                job.comm().reduce_scatter_async(gradients[m], std::span(reduced).subspan(m * each, each)));
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
        descend(own.numbers, reduced, world.seam("gradient.divisor", everything), job.learning_rate(step));
        for (auto& work : pending) work->wait();
        if (world.block("parameters.reshard")) gathered.reshard();
        std::vector<Number> shown;
        for (const std::size_t at : own.at) shown.push_back(own.numbers[at]);
        const Number mean_loss = scaled(logged[0], 1, world.seam("loss.divisor", everything));
        job.compare(step, shape, shown, own.where, mean_loss, job.size());
        return StepResult{mean_loss, scaled(norm(reduced), 1, everything)};
    });
}

}  // namespace

extern const WorkloadRow fsdp_row{[] {
    return workload(fsdp_words(), fsdp_rank, {"micro_batches", "audit", "groups"});
}};

}  // namespace deadrank::sim
