// sim/workloads/pipeline_stage.cpp — A stage of a pipeline, and the order of its forward and backward passes.
#include "sim/workloads/pipeline_stage.h"

#include <algorithm>
#include <fmt/format.h>

#include "scenarios/model/error.h"

namespace deadrank::sim {

// Warm-up forwards, then one forward and one backward in turn, then the remaining backwards.
std::vector<Pass> pipeline_schedule(int stage, int stages, int micro_batches, int chunks, int extra_warm_up) {
    CHECK(stages > 0 && chunks > 0 && (chunks == 1 || micro_batches % stages == 0));
    const int total = micro_batches * chunks;
    const auto pass = [&](int number, bool forward) {
        if (chunks == 1) return Pass{forward, number, 0};
        const int within = number % (stages * chunks);
        const int chunk = within / stages;
        return Pass{forward, number / (stages * chunks) * stages + within % stages,
                    forward ? chunk : chunks - 1 - chunk};
    };
    const int behind = stages - stage - 1;
    const int usual = chunks == 1 ? behind : behind * 2 + (chunks - 1) * stages;
    const int warm_up = std::clamp(usual + extra_warm_up, 0, total);
    std::vector<Pass> order;
    order.reserve(static_cast<std::size_t>(total) * 2);
    for (int i = 0; i < warm_up; ++i) order.push_back(pass(i, true));
    for (int i = warm_up; i < total; ++i) {
        order.push_back(pass(i, true));
        order.push_back(pass(i - warm_up, false));
    }
    for (int i = total - warm_up; i < total; ++i) order.push_back(pass(i, false));
    return order;
}

// ── Activations travel down, gradients travel up, each message tagged by micro-batch and chunk.

namespace {

// Tags: even = activations, odd = gradients.
int tag_of(int micro_batch, int chunk, bool forward) {
    return (micro_batch * 64 + chunk) * 2 + (forward ? 0 : 1);
}

}  // namespace

PipelineStage::PipelineStage(World& world, Footprint& memory, Comm& pipeline, const ModelShape& shape,
                             std::vector<Chunk>& chunks, Comm* amax, bool batched)
    : world_(world),
      memory_(memory),
      pipeline_(pipeline),
      shape_(shape),
      chunks_(chunks),
      amax_(amax),
      batched_(batched) {}

std::vector<Number> PipelineStage::receive(Rank from, int tag, std::size_t samples) {
    // The sender tells the shape first; a receiver that keeps the first one has a buffer that does not fit.
    if (first_received_ == 0) first_received_ = samples;
    if (!world_.block("p2p.shape") && first_received_ != samples) {
        throw RankFailure(
            fmt::format("RuntimeError: Mismatch in shape: grad_output[0] has a shape of "
                        "torch.Size([{}, {}]) and output[0] has a shape of torch.Size([{}, {}]).",
                        first_received_, shape_.width, samples, shape_.width));
    }
    std::vector<Number> numbers(samples * static_cast<std::size_t>(shape_.width));
    const auto peer = static_cast<Rank>(world_.seam("p2p.source", from));
    if (unsent_.empty()) {
        pipeline_.recv(numbers, peer, tag);
        return numbers;
    }
    const auto arriving = pipeline_.recv_async(numbers, peer, tag);
    send_pending();
    arriving->wait();
    return numbers;
}

void PipelineStage::send(std::vector<Number> numbers, Rank to, int tag) {
    const auto peer = static_cast<Rank>(world_.seam("p2p.peer", to));
    if (world_.seam("p2p.blocking", 0) != 0) {  // a send that returns only when the peer has taken it
        if (batched_) {
            unsent_.push_back({std::move(numbers), peer, tag});
        } else {
            pipeline_.send(numbers, peer, tag);
        }
        return;
    }
    auto buffer = std::make_unique<std::vector<Number>>(std::move(numbers));
    auto work = pipeline_.send_async(*buffer, peer, tag);
    if (!world_.block("p2p.keep_buffer"))
        std::fill(buffer->begin(), buffer->end(), 0);  // reused before it was sent
    sent_.emplace_back(std::move(buffer), std::move(work));
}

void PipelineStage::send_pending() {
    for (const Unsent& message : unsent_) pipeline_.send(message.numbers, message.to, message.tag);
    unsent_.clear();
}

void PipelineStage::forward(const Pass& pass, std::span<const std::int64_t> samples) {
    const Chunk& chunk = chunks_[static_cast<std::size_t>(pass.chunk)];
    const int stage = virtual_stage(pass.chunk);
    const auto width = static_cast<std::size_t>(shape_.width);
    std::vector<Number> arrived;
    if (stage > 0) {
        arrived = receive(owner(stage - 1), tag_of(pass.micro_batch, stage, true), samples.size());
    } else {
        for (const std::int64_t sample : samples) {
            const auto values = features(sample, shape_.width);
            arrived.insert(arrived.end(), values.begin(), values.end());
        }
    }
    Batch& batch = kept_[{pass.micro_batch, pass.chunk}];
    batch.levels.assign(samples.size(), {});
    batch.held = memory_.take_activations(static_cast<std::int64_t>(samples.size()) * (chunk.layers + 1) *
                                          shape_.width);
    std::vector<Number> leaving;
    for (std::size_t s = 0; s < samples.size(); ++s) {
        std::vector<Number>& levels = batch.levels[s];
        levels.assign((static_cast<std::size_t>(chunk.layers) + 1) * width, 0);
        std::copy_n(arrived.begin() + static_cast<std::ptrdiff_t>(s * width), width, levels.begin());
        for (std::size_t l = 0; l < static_cast<std::size_t>(chunk.layers); ++l) {
            const std::span all(levels);
            forward_layer(std::span(chunk.parameters).subspan(l * width, width),
                          all.subspan(l * width, width), all.subspan((l + 1) * width, width));
        }
        leaving.insert(leaving.end(), levels.end() - static_cast<std::ptrdiff_t>(width), levels.end());
    }
    if (amax_) {
        Number largest[] = {0};
        for (const Number value : leaving) largest[0] = std::max({largest[0], value, -value});
        amax_->all_reduce(largest, ReduceOp::max);
    }
    if (stage + 1 < stages())
        send(std::move(leaving), owner(stage + 1), tag_of(pass.micro_batch, stage + 1, true));
}

// A queue of labels that is one place ahead gives those of the next micro-batch.
std::span<const std::int64_t> PipelineStage::labels_for(int micro_batch) {
    const auto count = std::ssize(parts_);
    const std::int64_t number = world_.seam("labels.micro_batch", micro_batch);
    return parts_[static_cast<std::size_t>((number % count + count) % count)];
}

void PipelineStage::backward(const Pass& pass, std::span<const std::int64_t> samples) {
    Chunk& chunk = chunks_[static_cast<std::size_t>(pass.chunk)];
    const int stage = virtual_stage(pass.chunk);
    const auto width = static_cast<std::size_t>(shape_.width);
    const auto layers = static_cast<std::size_t>(chunk.layers);
    Batch& batch = kept_[{pass.micro_batch, pass.chunk}];
    std::vector<Number> arrived;
    if (stage + 1 < stages())
        arrived = receive(owner(stage + 1), tag_of(pass.micro_batch, stage, false), samples.size());
    std::vector<Number> leaving;
    for (std::size_t s = 0; s < samples.size(); ++s) {
        const std::span levels(batch.levels[s]);
        std::vector<Number> above(width);
        if (stage + 1 < stages()) {
            std::copy_n(arrived.begin() + static_cast<std::ptrdiff_t>(s * width), width, above.begin());
        } else {
            const auto labels = labels_for(pass.micro_batch);
            const Number error =
                head_error(levels.subspan(layers * width, width), answer(labels[s % labels.size()], shape_));
            loss_ = plus(loss_, head_loss(error));
            std::fill(above.begin(), above.end(), error);
        }
        for (std::size_t l = layers; l-- > 0;) {
            std::vector<Number> below(width, 0);
            backward_layer(std::span(chunk.parameters).subspan(l * width, width),
                           levels.subspan(l * width, width), above,
                           std::span(chunk.gradient).subspan(l * width, width), below);
            above = std::move(below);
        }
        leaving.insert(leaving.end(), above.begin(), above.end());
    }
    memory_.give_back(batch.held);
    kept_.erase({pass.micro_batch, pass.chunk});
    if (stage == 0) return;
    send(std::move(leaving), owner(stage - 1), tag_of(pass.micro_batch, stage - 1, false));
}

void PipelineStage::cut(std::span<const std::int64_t> samples, int micro_batches, bool uneven) {
    const std::size_t size = samples.size() / static_cast<std::size_t>(micro_batches);
    if (uneven && (size < 2 || micro_batches % 2 != 0)) {
        throw RankFailure(
            fmt::format("ValueError: {} micro-batches of {} samples cannot be uneven: an even number of them "
                        "with 2 each can",
                        micro_batches, size));
    }
    parts_.clear();
    std::size_t at = 0;
    const std::size_t rest = samples.size() % static_cast<std::size_t>(micro_batches);
    for (int i = 0; i < micro_batches; ++i) {
        const std::size_t less = uneven ? size - size / 2 : 0;
        const std::size_t more = static_cast<std::size_t>(i) < rest ? 1 : 0;
        const std::size_t length = (i % 2 == 0 ? size - less : size + less) + more;
        parts_.push_back(samples.subspan(at, length));
        at += length;
    }
}

Number PipelineStage::run(const std::vector<Pass>& schedule, std::span<const std::int64_t> samples,
                          int micro_batches, Time per_pass, bool uneven) {
    loss_ = 0;
    cut(samples, micro_batches, uneven);
    for (const Pass& pass : schedule) {
        const auto part = parts_[static_cast<std::size_t>(pass.micro_batch)];
        world_.device().compute(per_pass);
        if (pass.forward) {
            forward(pass, part);
        } else {
            backward(pass, part);
        }
    }
    send_pending();
    if (world_.block("p2p.wait_send")) {
        for (auto& [buffer, work] : sent_) work->wait();
    }
    sent_.clear();
    return loss_;
}

}  // namespace deadrank::sim
