// sim/workloads/job.cpp — The loop around a training step, and what a job shows of it.
#include "sim/workloads/job.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fmt/format.h>
#include <limits>
#include <numeric>

namespace deadrank::sim {

Job::Job(World& world, const JobSettings& settings)
    : world_(world), settings_(settings), memory_(world, settings) {}
Job::~Job() = default;

ModelShape Job::shape(std::int64_t experts) const {
    return {.layers = static_cast<int>(settings_.layers),
            .width = static_cast<int>(settings_.width),
            .experts = static_cast<int>(experts),
            .branch = static_cast<int>(settings_.branch_one_in)};
}

void Job::train(const std::function<StepResult(std::int64_t)>& step, std::int64_t until) {
    const std::int64_t asked = until < 0 ? settings_.steps : until;
    data_end_ = world_.seam("sampler.steps", asked);
    const std::int64_t steps = settings_.repeat_data && data_end_ > 0 ? asked : data_end_;
    restore();
    saved_ = world_.timer().now();
    for (std::int64_t number = first_step_; number < steps; ++number) {
        world_.step(number);
        collect(number);
        if (settings_.compile_workers > 0 && number == first_step_) {
            wait_for_lost_helper(
                world_.seam("compile.helper", 0),
                "concurrent.futures.process.BrokenProcessPool: A process in the process pool was "
                "terminated abruptly while the future was running or pending.");
        }
        const Time began = world_.timer().now();
        const StepResult result = step(number);
        ++optimizer_steps_;
        reduce_conditionally();
        gather_metrics(number);
        show_pace(number, world_.timer().now() - began);
        memory_.step_over();
        world_.phase(results::Phase::none);
        world_.record(results::StepEnd{number, shown(result.loss), shown(result.gradient_norm)});
        finish_saves(number);
        if (save_is_due(number)) save(number);
    }
    finish_saves(std::numeric_limits<std::int64_t>::max());
    if (until < 0) leave();
}

// As trainers report numbers that all ranks have a part of, each with a gather of its own: a rank that makes
// them in another order puts its part of one number into another.
void Job::gather_metrics(std::int64_t step) {
    const std::int64_t times = world_.seam("metric.gathers", 0);
    const auto part = [&](std::int64_t metric, std::int64_t rank) { return (metric * size_ + rank) * one; };
    for (std::int64_t metric = 0; metric < times; ++metric) {
        const Number mine[] = {part(metric, rank_)};
        std::vector<Number> all(static_cast<std::size_t>(size_));
        comm().all_gather(mine, all);
        Number expected = 0;
        for (std::int64_t rank = 0; rank < size_; ++rank) expected += part(metric, rank);
        value(step, fmt::format("metric.{}", metric), std::accumulate(all.begin(), all.end(), Number{0}),
              expected);
    }
}

// What a helper process was asked for never comes once it is dead. Whoever watches its children has an error
// at once; whoever waits for the answer alone waits for ever.
void Job::wait_for_lost_helper(std::int64_t lost, std::string_view error) {
    if (lost == 0) return;
    if (settings_.helper_ends == HelperEnds::raise) throw RankFailure(std::string(error));
    for (;;) world_.timer().sleep(std::chrono::hours(1));
}

void Job::show_pace(std::int64_t step, Time took) {
    if (settings_.expected_throughput > 0 && rank_ == 0 && took > Time{0}) {
        const std::int64_t tenths = samples_together_ * 10'000'000'000 / took.count();
        world_.log(fmt::format("step {}: {}.{} samples/s", step, tenths / 10, tenths % 10));
    }
    const Time expected = settings_.expected_step_time;
    if (expected <= Time{0}) return;
    const auto seconds = [](Time time) { return scaled(one, time.count(), 1'000'000'000); };
    value(step, "step_time", seconds(took), seconds(expected));
}

// A call that depends on a rank's own value: a log line after so many tokens, a step that overflowed, a
// buffer that is full. Ranks that agree first enter it together or not at all.
void Job::reduce_conditionally() {
    if (settings_.conditional_reduce == Condition::none) return;
    Number asks[] = {world_.seam("condition.value", 1)};
    if (settings_.conditional_reduce == Condition::agreed) comm().all_reduce(asks, ReduceOp::max);
    if (asks[0] == 0) return;
    Number counted[] = {1};
    comm().all_reduce(counted);
}

// Python's collector runs when its process has allocated enough, and each one is a little ahead of the next.
// Where automatic collection is off, all ranks collect at the same step instead.
void Job::collect(std::int64_t step) {
    const std::int64_t every = settings_.collect_every;
    if (every <= 0) return;
    const std::int64_t ahead = world_.block("collector.agree") ? 0 : world_.process();
    if ((step + ahead) % every != every - 1) return;
    world_.phase(results::Phase::forward);
    world_.timer().sleep(settings_.collect_time);
}

// Workers begin with the next batch when one is taken. Those that got no files, and files that are read only
// to be passed over, cost time that shows where training waits for them.
void Job::wait_for_loader() {
    if (settings_.loader_time <= Time{0}) return;
    const std::int64_t busy = std::max<std::int64_t>(1, world_.seam("loader.busy", settings_.loader_workers));
    const std::int64_t reads = std::max<std::int64_t>(1, world_.seam("loader.reads", 1));
    const Time takes = settings_.loader_time * (settings_.batch * reads) / busy;
    const Time ready = loading_since_.value_or(world_.timer().now()) + takes;
    if (const Time now = world_.timer().now(); now < ready) world_.timer().sleep(ready - now);
    loading_since_ = world_.timer().now();
}

std::vector<std::int64_t> Job::batch(std::int64_t step, Rank replica, Rank replicas, std::int64_t position) {
    if (settings_.loader_workers > 0)
        wait_for_lost_helper(world_.seam("loader.helper", 0),
                             "RuntimeError: DataLoader worker (pid 29001) is killed by signal: Killed.");
    wait_for_loader();
    prepare_on_host();
    samples_together_ = settings_.batch * replicas;
    SamplerSettings sampling;
    sampling.samples = settings_.samples;
    sampling.batch = world_.seam("sampler.batch", settings_.batch);
    sampling.replicas = static_cast<Rank>(world_.seam("sampler.replicas", replicas));
    sampling.seed = world_.seam("sampler.seed", settings_.seed);
    sampling.shuffle = settings_.shuffle;
    // torch's own words: a group that was never made has no members, and a bent number may be anything.
    if (sampling.batch < 1) {
        throw RankFailure(
            fmt::format("ValueError: batch_size should be a positive integer value, but got batch_size={}",
                        sampling.batch));
    }
    if (sampling.replicas < 1) {
        throw RankFailure(fmt::format("ValueError: Invalid rank {}, rank should be in the interval [0, {}]",
                                      replica, sampling.replicas - 1));
    }
    const std::int64_t place = world_.seam("sampler.shard", replica);
    std::int64_t at = world_.seam("sampler.position", position < 0 ? position_of(step, replicas) : position);
    std::int64_t passes = 0;
    if (settings_.repeat_data && data_end_ > 0) {
        passes = at / data_end_;
        at %= data_end_;
    }
    const std::int64_t epoch = Sampler(sampling).epoch_of(at) + passes;
    if (settings_.epoch_in_seed) sampling.seed += epoch;
    const Sampler sampler(sampling);
    std::vector<std::int64_t> samples = sampler.batch(at, place, world_.seam("sampler.epoch", epoch));
    results::DataBatch shown{
        step, epoch, samples.front(), static_cast<std::int32_t>(samples.size()), 1, results::TextId::none};
    if (sampling.shuffle) shown.samples = world_.text(listed(samples));
    world_.record(shown);
    return samples;
}

void Job::digest(std::int64_t step, std::string_view group, std::string_view name,
                 std::span<const Number> numbers) {
    world_.record(results::ParametersDigest{step, digest_of(numbers), world_.text(group), world_.text(name)});
}

void Job::value(std::int64_t step, std::string_view name, Number value, std::optional<Number> expected) {
    const double unknown = std::numeric_limits<double>::quiet_NaN();
    world_.record(
        results::ValueSample{step, world_.text(name), shown(value), expected ? shown(*expected) : unknown});
}

void Job::config(std::string_view name, std::int64_t number) {
    world_.record(results::RankConfig{world_.text(name), world_.text(std::to_string(number))});
}

void Job::layout(std::string_view tensor, std::int64_t offset, std::int64_t length, std::int64_t total) {
    world_.record(results::ShardLayout{world_.text(tensor), offset, length, total});
}

void Job::fail_test(std::int64_t step, Number mine, Number right) {
    throw RankFailure(fmt::format(
        "AssertionError: Tensor-likes are not close! Greatest absolute difference: {} at step {} (up to 0 "
        "allowed)",
        shown(mine > right ? mine - right : right - mine), step));
}

void Job::compare(std::int64_t step, const ModelShape& shape, std::span<const Number> own,
                  std::span<const std::int64_t> where, Number loss, Rank replicas) {
    const bool test = settings_.assert_equal;
    if (!settings_.reference && !test) return;
    if (!reference_) {
        const SamplerSettings sampling{settings_.samples, settings_.batch, replicas, settings_.seed,
                                       settings_.shuffle};
        const Reference::Recipe recipe{.seed = settings_.seed,
                                       .rate_ppb = configured_rate(),
                                       .dropout = settings_.dropout,
                                       .clip_ppb = settings_.clip,
                                       .auxiliary_ppb = settings_.auxiliary,
                                       .frozen = settings_.frozen_layer,
                                       .corrects = settings_.optimizer_steps,
                                       .by_tokens = settings_.sample_tokens == Tokens::uneven,
                                       .first_seed = settings_.seed + (settings_.saved_ranks > 0 ? 1 : 0),
                                       .first_step = counted_from_,
                                       .ahead = position_of(0, replicas)};
        reference_ = std::make_unique<Reference>(shape, sampling, recipe);
    }
    reference_->advance_to(step);
    Number mine = 0;
    Number right = 0;
    for (std::size_t i = 0; i < own.size(); ++i) {
        const auto place = static_cast<Number>(i + 1);  // weights, so that exchanged parameters show
        mine = saturate(Wide{mine} + Wide{own[i]} * place);
        right = saturate(Wide{right} +
                         Wide{reference_->parameters()[static_cast<std::size_t>(where[i])]} * place);
    }
    if (test && (mine != right || loss != reference_->loss())) fail_test(step, mine, right);
    if (!settings_.reference) return;
    value(step, "reference.parameters", mine, right);
    value(step, "reference.loss", loss, reference_->loss());
}

void Job::compare(std::int64_t step, std::span<const Number> own, std::int64_t offset, Number loss,
                  Rank replicas) {
    if (!settings_.reference && !settings_.assert_equal) return;
    std::vector<std::int64_t> where(own.size());
    for (std::size_t i = 0; i < where.size(); ++i) where[i] = offset + static_cast<std::int64_t>(i);
    compare(step, own, where, loss, replicas);
}

void Job::compare_norm(std::int64_t step, Number norm) {
    if (reference_) value(step, "reference.gradient_norm", norm, reference_->gradient_norm());
}

bool Job::audit_reduction(std::int64_t step, std::span<const Number> reduced, Number expected, Rank times) {
    if (!audits()) return true;
    const Number sum = saturate(Wide{checksum(reduced)} * times);
    // An average is rounded once for each number, which the checksum weighs with its place.
    const auto numbers = static_cast<Number>(reduced.size());
    const Number slack = times > 1 ? times * numbers * (numbers + 1) / 2 : 0;
    const bool right = std::abs(sum - expected) <= slack;
    value(step, "gradient.reduced", sum, right ? sum : expected);
    return right;
}

Dropout Job::dropout(std::int64_t step, Rank replica, std::size_t samples) {
    const std::int64_t one_in = settings_.dropout;
    if (one_in <= 0) return {};
    const bool adds = settings_.seed_by_replica;
    const std::int64_t own = settings_.seed + replica;  // replicas drop apart, shards of one alike
    const std::int64_t seed =
        adds ? world_.seam("rng.seed", settings_.seed) + replica : world_.seam("rng.seed", own);
    value(step, "dropout.seed", seed * one);
    return {one_in, seed, world_.seam("rng.counter", step * static_cast<std::int64_t>(samples))};
}

std::int64_t Job::configured_rate() const {
    const std::int64_t rate = settings_.learning_rate;
    if (settings_.rate_scaling == RateScaling::none) return rate;
    // The square root of the number of ranks, in thousandths.
    return rate * root(Number{size_} * 1'000'000) / 1000;
}

std::int64_t Job::learning_rate(std::int64_t step) {
    if (settings_.rate_scaling == RateScaling::sqrt && !world_.block("scheduler.to_tensor"))
        throw RankFailure("TypeError: sqrt(): argument 'input' (position 1) must be Tensor, not float");
    const std::int64_t base = world_.seam("optimizer.base_rate", configured_rate());
    std::int64_t rate = world_.seam("optimizer.learning_rate", base);
    if (settings_.optimizer_steps) {
        rate = corrected_rate(rate, optimizer_steps_);
        value(step, "optimizer.step", (optimizer_steps_ + 1) * one, (step + 1) * one);
    }
    value(step, "learning_rate", scaled(one, rate, 1'000'000'000));
    return rate;
}

scenarios::Kind job_words(std::string name, std::string what) {
    scenarios::Kind kind{std::move(name), std::move(what)};
    kind.phases = {{"data"},
                   {"forward"},
                   {"reduce"},
                   {"optimizer"},
                   {"checkpoint", "checkpoint_every or checkpoint_interval"}};
    kind.seams = {"startup.rank",
                  "startup.world_size",
                  "startup.device",
                  "group.stride",
                  "group.size",
                  "group.base",
                  "sampler.batch",
                  "sampler.replicas",
                  "sampler.seed",
                  "sampler.shard",
                  "sampler.position",
                  "sampler.epoch",
                  "sampler.steps",
                  "model.seed",
                  "optimizer.base_rate",
                  "optimizer.learning_rate",
                  "checkpoint.shard",
                  "checkpoint.step",
                  "checkpoint.writer",
                  "checkpoint.visible",
                  "checkpoint.load_shard",
                  "checkpoint.first_parameter",
                  "checkpoint.prefix",
                  "checkpoint.load_prefix",
                  "checkpoint.first_key",
                  "checkpoint.load_first_key",
                  "checkpoint.keys",
                  "checkpoint.resumed_step",
                  "context.device",
                  "weights.device",
                  "load.layers_at_once",
                  "loader.workers",
                  "loader.busy",
                  "loader.reads",
                  "rng.seed",
                  "rng.counter",
                  "condition.value",
                  "group.number",
                  "metric.gathers",
                  "loader.helper",
                  "compile.helper",
                  "checkpoint.helper",
                  "store.host",
                  "host.threads",
                  "copy.lanes"};
    kind.blocks = {"startup.init_process_group", "checkpoint.sync",         "checkpoint.publish",
                   "checkpoint.restore",         "checkpoint.wait_for_all", "checkpoint.close",
                   "activations.release",        "scheduler.to_tensor",     "collector.agree",
                   "group.make_others",          "checkpoint.optimizer"};
    return kind;
}

void add_backward_phase(scenarios::Kind& kind) {
    const auto after = std::find_if(kind.phases.begin(), kind.phases.end(),
                                    [](const scenarios::PhaseWord& phase) { return phase.name == "reduce"; });
    kind.phases.insert(after, {"backward"});
}

void leave_out(scenarios::Kind& kind, std::initializer_list<std::string_view> beginnings,
               std::initializer_list<std::string_view> but) {
    const auto goes = [&](const std::string& name) {
        const auto fits = [&](std::string_view beginning) { return name.starts_with(beginning); };
        return std::any_of(beginnings.begin(), beginnings.end(), fits) &&
               std::find(but.begin(), but.end(), name) == but.end();
    };
    std::erase_if(kind.seams, goes);
    std::erase_if(kind.blocks, goes);
}

void add_whole_model_words(scenarios::Kind& kind) {
    for (const char* seam : {"evaluation.passes", "evaluation.divisor", "loss.normaliser", "clip.norm",
                             "evaluation.formula", "evaluation.reductions"})
        kind.seams.emplace_back(seam);
    kind.blocks.emplace_back("tokens.all_reduce");
    add_loading_words(kind);
    for (const char* seam : {"auxiliary.divisor", "auxiliary.formula", "layer.frozen"})
        kind.seams.emplace_back(seam);
}

void add_clip_words(scenarios::Kind& kind) {
    kind.seams.emplace_back("clip.norm");
}

void add_loading_words(scenarios::Kind& kind) {
    for (const char* seam : {"saved.first_number", "loader.first_number", "loader.shards", "loader.offset",
                             "loader.pad", "loader.samples"})
        kind.seams.emplace_back(seam);
    for (const char* block : {"loader.check_layout", "loader.assign"}) kind.blocks.emplace_back(block);
}

}  // namespace deadrank::sim
