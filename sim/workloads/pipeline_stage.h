// sim/workloads/pipeline_stage.h — A stage of a pipeline, and the order of its forward and backward passes.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "sim/workloads/footprint.h"
#include "sim/workloads/model.h"
#include "sim/world/comm.h"
#include "sim/world/world.h"

namespace deadrank::sim {

// ── In which order a pipeline stage runs its forward and backward passes: 1F1B, plain or interleaved.
// Source: Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters", 2021, section
// 2.2.

struct Pass {
    bool forward = true;
    int micro_batch = 0;
    int chunk = 0;  // of the stage's layers; 0 unless interleaved
};

// `chunks` > 1 interleaves: then micro_batches must be a multiple of `stages`.
std::vector<Pass> pipeline_schedule(int stage, int stages, int micro_batches, int chunks,
                                    int extra_warm_up = 0);

// ── One rank's part of a pipeline: its chunks of layers, its gradients, and what it keeps between passes.

struct Chunk {
    int first_layer = 0;
    int layers = 0;
    std::vector<Number> parameters;
    std::vector<Number> gradient;
};

class PipelineStage {
public:
    // `amax`: over whom the largest activation of a forward pass is reduced; nullptr = it is not reduced.
    PipelineStage(World& world, Footprint& memory, Comm& pipeline, const ModelShape& shape,
                  std::vector<Chunk>& chunks, Comm* amax = nullptr, bool batched = false);

    // Runs all passes of a step over `samples`, cut into micro-batches that are equal, or `uneven`: every
    // second one has three times as many as the one before it. Returns the loss sum (last stage; 0
    // elsewhere).
    Number run(const std::vector<Pass>& schedule, std::span<const std::int64_t> samples, int micro_batches,
               Time per_pass, bool uneven = false);

private:
    // Per sample: activations of every level of the chunk; and the device memory they take.
    struct Batch {
        std::vector<std::vector<Number>> levels;
        std::int64_t held = 0;
    };

    void forward(const Pass& pass, std::span<const std::int64_t> samples);
    void backward(const Pass& pass, std::span<const std::int64_t> samples);
    std::span<const std::int64_t> labels_for(int micro_batch);
    void cut(std::span<const std::int64_t> samples, int micro_batches, bool uneven);
    std::vector<Number> receive(Rank from, int tag, std::size_t samples);
    void send(std::vector<Number> numbers, Rank to, int tag);
    void send_pending();
    int virtual_stage(int chunk) const { return chunk * pipeline_.size() + pipeline_.rank(); }
    Rank owner(int stage) const { return stage % pipeline_.size(); }
    int stages() const { return pipeline_.size() * static_cast<int>(chunks_.size()); }

    World& world_;
    Footprint& memory_;
    Comm& pipeline_;
    ModelShape shape_;
    std::vector<Chunk>& chunks_;
    Comm* amax_;
    bool batched_;  // receives are posted together with what is to be sent
    struct Unsent {
        std::vector<Number> numbers;
        Rank to;
        int tag;
    };
    std::vector<Unsent> unsent_;                 // with batched_: until the next receive is posted
    std::map<std::pair<int, int>, Batch> kept_;  // (micro-batch, chunk) → activations
    std::vector<std::pair<std::unique_ptr<std::vector<Number>>, std::unique_ptr<Work>>> sent_;
    Number loss_ = 0;
    std::vector<std::span<const std::int64_t>> parts_;  // of this step's samples, a micro-batch each
    std::size_t first_received_ = 0;                    // samples of the first message that came in
};

}  // namespace deadrank::sim
