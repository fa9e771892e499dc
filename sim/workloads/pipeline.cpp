// sim/workloads/pipeline.cpp — Layers over stages, micro-batches through them by 1F1B (plain or interleaved),
// data parallel beside.
#include <algorithm>
#include <fmt/format.h>
#include <vector>

#include "sim/workloads/job.h"
#include "sim/workloads/pipeline_stage.h"
#include "sim/workloads/workload_catalog.h"

namespace deadrank::sim {

namespace {


struct PipelineSettings : JobSettings {
    explicit PipelineSettings(Source source) : JobSettings(source) {
        for (const Text name : {"layers", "batch", "micro_batches"}) usual(name, "8");
    }

    std::int64_t pp_size = integer("pp_size", "4", "stages of the pipeline", 1);
    std::int64_t chunks =
        integer("chunks", "1", "chunks of layers a stage holds; more than 1 interleaves", 1);
    std::int64_t head_work = integer(
        "head_work", "0", "work of the output head on the last stage, in thousandths of an even share");
    bool batch_p2p = flag("batch_p2p", "", "stages post what they receive together with what they send");
    std::int64_t rounds =
        dividing("rounds", "",
                 "times that the schedule runs before the optimizer's step, each on its part of the "
                 "micro-batches, with gradients accumulated; absent = once",
                 "micro_batches");
    bool uneven_micro_batches = pairing(
        "uneven_micro_batches", "",
        "every second micro-batch is three times as long as the one before it; stages tell each other. Needs "
        "an even number of micro-batches (in each round) of two samples or more",
        "batch/micro_batches/rounds");
    bool fp8 = flag("fp8", "false", "reduce the largest activation over the stage after each forward pass");
};

scenarios::Kind pipeline_words() {
    scenarios::Kind kind =
        job_words("pipeline", "layers over stages, 1F1B or interleaved, with point-to-point messages");
    for (const char* seam : {"p2p.peer", "p2p.source", "p2p.blocking", "stage.first_layer", "stage.layers",
                             "gradient.divisor", "loss.divisor", "schedule.warm_up", "pp.size", "stage.work",
                             "round.divisor", "labels.micro_batch"}) {
        kind.seams.emplace_back(seam);
    }
    for (const char* block :
         {"p2p.wait_send", "p2p.keep_buffer", "gradient.all_reduce", "loss.broadcast", "gradient.clear",
          "stage.balance", "p2p.shape", "round.accumulate"}) {
        kind.blocks.emplace_back(block);
    }
    leave_out(kind, {"checkpoint.", "rng."});
    return kind;
}

// A rank's position: which stage of which replica.
struct PipelinePlace {
    Rank stages;
    Rank replicas;
    Rank stage;
    Rank replica;
};

PipelinePlace pipeline_place(Job& job, const PipelineSettings& settings) {
    const auto stages = static_cast<Rank>(job.world().seam("pp.size", settings.pp_size));
    if (stages <= 0 || job.size() % stages != 0) {
        throw RankFailure(
            fmt::format("RuntimeError: world_size ({}) is not divisible by {}", job.size(), stages));
    }
    const Rank replicas = job.size() / stages;
    return {stages, replicas, job.rank() / replicas, job.rank() % replicas};
}

std::vector<Chunk> own_chunks(Job& job, const ModelShape& shape, const PipelinePlace& place,
                              std::int64_t chunk_count) {
    World& world = job.world();
    const auto parts = static_cast<int>(place.stages * chunk_count);
    if (shape.layers % parts != 0) {
        throw RankFailure(fmt::format(
            "AssertionError: number of layers ({}) must be divisible by pipeline stages × chunks ({})",
            shape.layers, parts));
    }
    const std::int64_t seed = world.seam("model.seed", job.settings().seed);
    std::vector<Chunk> chunks;
    for (int c = 0; c < chunk_count; ++c) {
        const int length = shape.layers / parts;
        const int first = (c * place.stages + place.stage) * length;
        Chunk chunk;
        chunk.first_layer = static_cast<int>(world.seam("stage.first_layer", first));
        chunk.layers = static_cast<int>(world.seam("stage.layers", length));
        if (chunk.layers < 0 || chunk.first_layer < 0)
            throw RankFailure("IndexError: list index out of range");
        for (int i = 0; i < chunk.layers * shape.width; ++i) {
            chunk.parameters.push_back(
                initial_parameter(seed, std::int64_t{chunk.first_layer} * shape.width + i));
        }
        chunk.gradient.assign(chunk.parameters.size(), 0);
        job.layout("layers", chunk.first_layer, chunk.layers, shape.layers);
        chunks.push_back(std::move(chunk));
    }
    return chunks;
}

// What a schedule does to the gradients when it has run: a sum that is divided here is divided in each round.
void divide_gradients(std::vector<Chunk>& chunks, std::int64_t divisor) {
    if (divisor == 1) return;
    for (Chunk& chunk : chunks) {
        for (Number& value : chunk.gradient) value = scaled(value, 1, divisor);
    }
}

// A rank's stage of the pipeline, and the phases of its step.
class PipelineRank {
public:
    PipelineRank(Job& job, const PipelineSettings& settings)
        : job_(job),
          world_(job.world()),
          settings_(settings),
          shape_(job.shape()),
          rounds_(std::max<std::int64_t>(1, settings.rounds)),
          micro_batches_(micro_batches_of_a_round()),
          place_(pipeline_place(job, settings)),
          pp_(job.strided_group("pp", place_.replica, place_.replicas, place_.stages)),
          dp_(job.strided_group("dp", place_.stage * place_.replicas, 1, place_.replicas)),
          chunks_(load_chunks()),
          part_(world_, job.memory(), *pp_, shape_, chunks_, amax_group(), settings.batch_p2p),
          schedule_(make_schedule()),
          per_pass_(time_of_a_pass()) {}

    StepResult step(std::int64_t number) {
        world_.phase(results::Phase::data);
        const auto samples = job_.batch(number, place_.replica, place_.replicas);
        clear_gradients();
        world_.phase(results::Phase::forward);  // forward and backward passes alternate: one phase
        const Number loss = run_schedule(samples);
        world_.phase(results::Phase::reduce);
        const Sums sums = reduce(loss, samples.size());
        world_.phase(results::Phase::optimizer);
        return update(number, sums);
    }

private:
    // What a step adds up over the ranks.
    struct Sums {
        Number loss = 0;
        Number norm = 0;           // of the own chunks' gradients
        std::int64_t samples = 0;  // of all replicas
        std::int64_t divisor = 0;  // of the gradient
    };

    int micro_batches_of_a_round() {
        if (settings_.micro_batches % rounds_ == 0)
            return static_cast<int>(settings_.micro_batches / rounds_);
        throw RankFailure(fmt::format("ValueError: {} micro-batches cannot be cut into {} rounds",
                                      settings_.micro_batches, rounds_));
    }

    std::vector<Chunk> load_chunks() {
        std::vector<Chunk> chunks = own_chunks(job_, shape_, place_, settings_.chunks);
        std::int64_t held = 0;
        for (const Chunk& chunk : chunks) held += std::ssize(chunk.parameters);
        job_.memory().load({held, held, 2 * held}, shape_.parameters(), shape_.layers);
        return chunks;
    }

    // The scale of 8-bit numbers belongs to a stage.
    Comm* amax_group() { return settings_.fp8 ? dp_.get() : nullptr; }

    std::vector<Pass> make_schedule() {
        if (chunks_.size() > 1 && micro_batches_ % place_.stages != 0) {
            throw RankFailure(fmt::format(
                "RuntimeError: number of microbatches ({}) is not divisible by pipeline-model-parallel-size "
                "({}) when using interleaved schedule",
                micro_batches_, place_.stages));
        }
        const auto warm_up = static_cast<int>(world_.seam("schedule.warm_up", 0));
        return pipeline_schedule(place_.stage, place_.stages, micro_batches_,
                                 static_cast<int>(chunks_.size()), warm_up);
    }

    // Balanced, the head counts as layers when stages are cut; else it comes on top of the last one's share.
    Time time_of_a_pass() {
        constexpr std::int64_t even_share = 1000;
        const bool balanced = world_.block("stage.balance");
        const std::int64_t on_top = place_.stage == place_.stages - 1 ? settings_.head_work : 0;
        const std::int64_t share = even_share + (balanced ? settings_.head_work / place_.stages : on_top);
        const auto passes = 2 * settings_.micro_batches * std::ssize(chunks_);
        return settings_.step_time * world_.seam("stage.work", share) / even_share / passes;
    }

    void clear_gradients() {
        if (world_.block("gradient.clear")) wipe_gradients();
    }

    void wipe_gradients() {
        for (Chunk& chunk : chunks_) std::fill(chunk.gradient.begin(), chunk.gradient.end(), 0);
    }

    // Once, or in rounds that each take their part of the micro-batches and add to the same gradients.
    Number run_schedule(std::span<const std::int64_t> samples) {
        // Where a round's samples begin: of micro-batches that are not alike the first ones are longer.
        const auto begin = [&](std::int64_t round) {
            const std::int64_t all = std::ssize(samples), number = round * micro_batches_;
            return static_cast<std::size_t>(all / settings_.micro_batches * number +
                                            std::min(all % settings_.micro_batches, number));
        };
        Number loss = 0;
        for (std::int64_t round = 0; round < rounds_; ++round) {
            if (round > 0 && !world_.block("round.accumulate")) wipe_gradients();
            const auto of_round = samples.subspan(begin(round), begin(round + 1) - begin(round));
            loss = plus(loss, part_.run(schedule_, of_round, micro_batches_, per_pass_,
                                        settings_.uneven_micro_batches));
            divide_gradients(chunks_, rounds_ == 1 ? 1 : world_.seam("round.divisor", 1));
        }
        return loss;
    }

    Sums reduce(Number loss, std::size_t samples) {
        Sums sums{.samples = std::int64_t{place_.replicas} * static_cast<std::int64_t>(samples)};
        sums.divisor = world_.seam("gradient.divisor", sums.samples);
        Number logged[] = {loss};
        if (world_.block("loss.broadcast")) pp_->broadcast(logged, place_.stages - 1);
        dp_->all_reduce(logged);
        sums.loss = logged[0];
        for (Chunk& chunk : chunks_) {
            if (world_.block("gradient.all_reduce")) dp_->all_reduce(chunk.gradient);
            sums.norm = plus(sums.norm, norm(chunk.gradient));
        }
        return sums;
    }

    StepResult update(std::int64_t number, const Sums& sums) {
        const std::int64_t rate = job_.learning_rate(number);
        const Number mean_loss = scaled(sums.loss, 1, world_.seam("loss.divisor", sums.samples));
        std::vector<Number> own;
        std::vector<std::int64_t> where;
        for (Chunk& chunk : chunks_) {
            descend(chunk.parameters, chunk.gradient, sums.divisor, rate);
            own.insert(own.end(), chunk.parameters.begin(), chunk.parameters.end());
            const std::int64_t first = std::int64_t{chunk.first_layer} * shape_.width;
            for (std::int64_t i = 0; i < std::ssize(chunk.parameters); ++i)
                where.push_back((first + i) % shape_.parameters());
        }
        job_.digest(number, fmt::format("dp:pp{}", place_.stage), "parameters", own);
        job_.compare(number, own, where, mean_loss, place_.replicas);
        return {mean_loss, scaled(sums.norm, 1, sums.samples)};
    }

    Job& job_;
    World& world_;
    const PipelineSettings& settings_;
    ModelShape shape_;
    std::int64_t rounds_;
    int micro_batches_;  // of a round
    PipelinePlace place_;
    std::unique_ptr<Comm> pp_;
    std::unique_ptr<Comm> dp_;
    std::vector<Chunk> chunks_;
    PipelineStage part_;
    std::vector<Pass> schedule_;
    Time per_pass_;
};

void pipeline_rank(World& world, const PipelineSettings& settings) {
    Job job(world, settings);
    job.start();
    PipelineRank rank(job, settings);
    job.train([&](std::int64_t step) { return rank.step(step); });
}

}  // namespace

extern const WorkloadRow pipeline_row{[] {
    return workload(pipeline_words(), pipeline_rank,
                    checkpoint_settings_and({"dropout", "audit", "validate_access"}));
}};

}  // namespace deadrank::sim
