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
        integer("rounds", "",
                "times that the schedule runs before the optimizer's step, each on its part of the "
                "micro-batches, with gradients accumulated; absent = once",
                1);
    bool uneven_micro_batches =
        flag("uneven_micro_batches", "",
             "every second micro-batch is three times as long as the one before it; stages tell each other");
    bool fp8 = flag("fp8", "false", "reduce the largest activation over the stage after each forward pass");
};

scenarios::Kind pipeline_words() {
    scenarios::Kind kind =
        job_words("pipeline", "layers over stages, 1F1B or interleaved, with point-to-point messages");
    for (const char* seam : {"p2p.peer", "p2p.source", "p2p.blocking", "stage.first_layer", "stage.layers",
                             "gradient.divisor", "loss.divisor", "schedule.warm_up", "pp.size", "stage.work",
                             "amax.group", "round.divisor", "labels.micro_batch"}) {
        kind.seams.emplace_back(seam);
    }
    for (const char* block : {"p2p.wait_send", "p2p.keep_buffer", "gradient.all_reduce", "loss.broadcast",
                              "gradient.clear", "stage.balance", "p2p.shape"}) {
        kind.blocks.emplace_back(block);
    }
    return kind;
}

std::vector<Chunk> own_chunks(Job& job, const ModelShape& shape, Rank stage, Rank stages,
                              std::int64_t chunk_count) {
    World& world = job.world();
    const auto parts = static_cast<int>(stages * chunk_count);
    if (shape.layers % parts != 0) {
        throw RankFailure(fmt::format(
            "AssertionError: number of layers ({}) must be divisible by pipeline stages × chunks ({})",
            shape.layers, parts));
    }
    const std::int64_t seed = world.seam("model.seed", job.settings().seed);
    std::vector<Chunk> chunks;
    for (int c = 0; c < chunk_count; ++c) {
        const int length = shape.layers / parts;
        Chunk chunk;
        chunk.first_layer = static_cast<int>(world.seam("stage.first_layer", (c * stages + stage) * length));
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

void pipeline_rank(World& world, const PipelineSettings& settings) {
    Job job(world, settings);
    job.start();
    const ModelShape shape = job.shape();
    const std::int64_t rounds = std::max<std::int64_t>(1, settings.rounds);
    const auto stages = static_cast<Rank>(world.seam("pp.size", settings.pp_size));
    if (stages <= 0 || job.size() % stages != 0) {
        throw RankFailure(
            fmt::format("RuntimeError: world_size ({}) is not divisible by {}", job.size(), stages));
    }
    const Rank replicas = job.size() / stages;
    const Rank stage = job.rank() / replicas;
    const Rank replica = job.rank() % replicas;
    auto pp = job.strided_group("pp", replica, replicas, stages);
    auto dp = job.strided_group("dp", stage * replicas, 1, replicas);
    std::vector<Chunk> chunks = own_chunks(job, shape, stage, stages, settings.chunks);
    std::int64_t held = 0;
    for (const Chunk& chunk : chunks) held += static_cast<std::int64_t>(chunk.parameters.size());
    job.memory().load({held, held, 2 * held}, shape.parameters(), shape.layers);
    // The scale of 8-bit numbers belongs to a stage; a group that reaches beyond it waits for other stages.
    Comm* amax = nullptr;
    if (settings.fp8) amax = world.seam("amax.group", 0) == 0 ? dp.get() : &job.comm();
    PipelineStage part(world, job.memory(), *pp, shape, chunks, amax, settings.batch_p2p);
    const int micro_batches = static_cast<int>(settings.micro_batches);
    const auto chunk_count = static_cast<int>(chunks.size());
    const auto warm_up = static_cast<int>(world.seam("schedule.warm_up", 0));
    const auto schedule = pipeline_schedule(stage, stages, micro_batches, chunk_count, warm_up);
    constexpr std::int64_t even_share = 1000;
    // Balanced, the head counts as layers when stages are cut; else it comes on top of the last one's share.
    const bool balanced = world.block("stage.balance");
    const std::int64_t on_top = stage == stages - 1 ? settings.head_work : 0;
    const std::int64_t share = even_share + (balanced ? settings.head_work / stages : on_top);
    const Time per_pass =
        settings.step_time * world.seam("stage.work", share) / even_share / (2 * micro_batches * chunk_count);

    job.train([&](std::int64_t step) {
        world.phase(results::Phase::data);
        const auto samples = job.batch(step, replica, replicas);
        if (world.block("gradient.clear")) {
            for (Chunk& chunk : chunks) std::fill(chunk.gradient.begin(), chunk.gradient.end(), 0);
        }
        world.phase(results::Phase::forward);  // forward and backward passes alternate: one phase
        Number loss[] = {0};
        const std::size_t of_round = samples.size() / static_cast<std::size_t>(rounds);
        for (std::size_t from = 0; from + of_round <= samples.size() && of_round > 0; from += of_round) {
            loss[0] =
                plus(loss[0], part.run(schedule, std::span(samples).subspan(from, of_round), micro_batches,
                                       per_pass / rounds, settings.uneven_micro_batches));
            divide_gradients(chunks, rounds == 1 ? 1 : world.seam("round.divisor", 1));
        }
        world.phase(results::Phase::reduce);
        const std::int64_t everything = std::int64_t{replicas} * static_cast<std::int64_t>(samples.size());
        const std::int64_t divisor = world.seam("gradient.divisor", everything);
        if (world.block("loss.broadcast")) pp->broadcast(loss, stages - 1);
        dp->all_reduce(loss);
        Number size = 0;
        for (Chunk& chunk : chunks) {
            if (world.block("gradient.all_reduce")) dp->all_reduce(chunk.gradient);
            size = plus(size, norm(chunk.gradient));
        }
        world.phase(results::Phase::optimizer);
        const std::int64_t rate = job.learning_rate(step);
        const Number mean_loss = scaled(loss[0], 1, world.seam("loss.divisor", everything));
        std::vector<Number> own;
        std::vector<std::int64_t> where;
        for (Chunk& chunk : chunks) {
            descend(chunk.parameters, chunk.gradient, divisor, rate);
            for (std::size_t i = 0; i < chunk.parameters.size(); ++i) {
                own.push_back(chunk.parameters[i]);
                where.push_back(
                    (std::int64_t{chunk.first_layer} * shape.width + static_cast<std::int64_t>(i)) %
                    shape.parameters());
            }
        }
        job.digest(step, fmt::format("dp:pp{}", stage), "parameters", own);
        job.compare(step, own, where, mean_loss, replicas);
        return StepResult{mean_loss, scaled(size, 1, everything)};
    });
}

}  // namespace

extern const WorkloadRow pipeline_row{[] {
    return workload(pipeline_words(), pipeline_rank,
                    checkpoint_settings_and({"dropout", "audit", "validate_access"}));
}};

}  // namespace deadrank::sim
