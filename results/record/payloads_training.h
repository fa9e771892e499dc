// results/record/payloads_training.h — Steps, phases, values, shards, samples and checkpoints: what a
// training job says of its own work. Trivially copyable; fields are visited in the order written. Units:
// nanoseconds, bytes, elements, degrees Celsius, watts.
#pragma once

#include <cstdint>
#include <string_view>

#include "results/record/codes.h"

namespace deadrank::results {

struct StepBegin {
    static constexpr std::string_view kind = "step.begin";
    std::int64_t step = 0;

    template <class Self, class Visit>
    static void fields(Self& self, Visit&& visit) {
        visit("step", self.step);
    }
};

// loss and gradient norm as the rank printed them, including NaN and Inf.
struct StepEnd {
    static constexpr std::string_view kind = "step.end";
    std::int64_t step = 0;
    double loss = 0;
    double gradient_norm = 0;

    template <class Self, class Visit>
    static void fields(Self& self, Visit&& visit) {
        visit("step", self.step);
        visit("loss", self.loss);
        visit("gradient_norm", self.gradient_norm);
    }
};

struct PhaseBegin {
    static constexpr std::string_view kind = "phase.begin";
    std::int64_t step = 0;
    Phase phase = Phase::none;

    template <class Self, class Visit>
    static void fields(Self& self, Visit&& visit) {
        visit("step", self.step);
        visit("phase", self.phase);
    }
};

struct PhaseEnd {
    static constexpr std::string_view kind = "phase.end";
    std::int64_t step = 0;
    Phase phase = Phase::none;

    template <class Self, class Visit>
    static void fields(Self& self, Visit&& visit) {
        visit("step", self.step);
        visit("phase", self.phase);
    }
};

// group: which ranks must hold the same data ("dp:0"); name: what was digested (parameters, optimizer, mask).
struct ParametersDigest {
    static constexpr std::string_view kind = "parameters.digest";
    std::int64_t step = 0;
    std::uint64_t digest = 0;
    TextId group = TextId::none;
    TextId name = TextId::none;

    template <class Self, class Visit>
    static void fields(Self& self, Visit&& visit) {
        visit("step", self.step);
        visit("digest", self.digest);
        visit("group", self.group);
        visit("name", self.name);
    }
};

// A named quantity as the job logs it, with its value by the job's own definition, if there is one (NaN =
// none).
struct ValueSample {
    static constexpr std::string_view kind = "value.sample";
    std::int64_t step = 0;
    TextId name = TextId::none;
    double value = 0;
    double expected = 0;

    template <class Self, class Visit>
    static void fields(Self& self, Visit&& visit) {
        visit("step", self.step);
        visit("name", self.name);
        visit("value", self.value);
        visit("expected", self.expected);
    }
};

// Which part of a tensor this rank believes to own: [offset, offset + length) of total.
struct ShardLayout {
    static constexpr std::string_view kind = "shard.layout";
    TextId tensor = TextId::none;
    std::int64_t offset = 0;
    std::int64_t length = 0;
    std::int64_t total = 0;

    template <class Self, class Visit>
    static void fields(Self& self, Visit&& visit) {
        visit("tensor", self.tensor);
        visit("offset", self.offset);
        visit("length", self.length);
        visit("total", self.total);
    }
};

// samples first, first + stride, … (count of them); or listed in `samples` as "4,17,3".
struct DataBatch {
    static constexpr std::string_view kind = "data.batch";
    std::int64_t step = 0;
    std::int64_t epoch = 0;
    std::int64_t first = 0;
    std::int32_t count = 0;
    std::int32_t stride = 1;
    TextId samples = TextId::none;

    template <class Self, class Visit>
    static void fields(Self& self, Visit&& visit) {
        visit("step", self.step);
        visit("epoch", self.epoch);
        visit("first", self.first);
        visit("count", self.count);
        visit("stride", self.stride);
        visit("samples", self.samples);
    }
};

// What of a process lies on which device of its host: "model" for each one at its start, "context" or
// "weights" where those lie elsewhere. Which device was meant nobody writes down.
struct DeviceBind {
    static constexpr std::string_view kind = "device.bind";
    TextId what = TextId::none;
    std::int32_t device = 0;

    template <class Self, class Visit>
    static void fields(Self& self, Visit&& visit) {
        visit("what", self.what);
        visit("device", self.device);
    }
};

// An answer of inference serving. digest over its tokens; finite = 0 when logits were not.
struct ServeOutput {
    static constexpr std::string_view kind = "serve.output";
    std::int64_t request = 0;
    std::uint64_t digest = 0;
    std::int32_t tokens = 0;
    std::int32_t finite = 1;

    template <class Self, class Visit>
    static void fields(Self& self, Visit&& visit) {
        visit("request", self.request);
        visit("digest", self.digest);
        visit("tokens", self.tokens);
        visit("finite", self.finite);
    }
};

// digest over the bytes handed to the store; path as text.
struct CheckpointSave {
    static constexpr std::string_view kind = "checkpoint.save";
    std::int64_t step = 0;
    std::int64_t bytes = 0;
    std::uint64_t digest = 0;
    std::int32_t shard = 0;
    std::int32_t shards = 1;
    TextId path = TextId::none;
    Code result = Code::ok;

    template <class Self, class Visit>
    static void fields(Self& self, Visit&& visit) {
        visit("step", self.step);
        visit("bytes", self.bytes);
        visit("digest", self.digest);
        visit("shard", self.shard);
        visit("shards", self.shards);
        visit("path", self.path);
        visit("result", self.result);
    }
};

// digest over the bytes that came back.
struct CheckpointLoad {
    static constexpr std::string_view kind = "checkpoint.load";
    std::int64_t step = 0;
    std::int64_t bytes = 0;
    std::uint64_t digest = 0;
    std::int32_t shard = 0;
    std::int32_t shards = 1;
    TextId path = TextId::none;
    Code result = Code::ok;

    template <class Self, class Visit>
    static void fields(Self& self, Visit&& visit) {
        visit("step", self.step);
        visit("bytes", self.bytes);
        visit("digest", self.digest);
        visit("shard", self.shard);
        visit("shards", self.shards);
        visit("path", self.path);
        visit("result", self.result);
    }
};

}  // namespace deadrank::results
