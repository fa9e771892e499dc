// sim/workloads/zero_settings.h — What a scenario may set of ZeRO, and the seams and blocks of its ranks.
#pragma once

#include "sim/workloads/job.h"
#include "sim/workloads/workload_catalog.h"

namespace deadrank::sim {

enum class Unwritten { zeros, leftovers, nan };
enum class Fetch { all_gather, all_reduce };

struct ZeroSettings : JobSettings {
    using JobSettings::JobSettings;
    static constexpr bool whole_model = true;

    std::int64_t stage = integer("stage", "1", "1 optimizer state, 2 and gradients, 3 and parameters", 1);
    bool offload =
        flag("offload", "false", "keep optimizer state in host memory, swapped in by an asynchronous queue");
    std::int64_t bucket =
        integer("bucket", "",
                "gradients lie layer by layer in a flat buffer, which is reduced so many elements at a time; "
                "absent = as one piece",
                1);
    std::int64_t align =
        integer("align", "", "a layer begins at a multiple of this in that buffer", 1, "bucket");
    Unwritten unwritten = choice<Unwritten>("unwritten", "", "what fresh memory holds. Absent = zeros",
                                            {"zeros", "leftovers", "nan"}, "bucket or fetch");
    bool one_stream = flag(
        "one_stream", "",
        "copies into that buffer and its reductions share a stream: none can be early, and a step takes a "
        "tenth longer",
        "bucket");
    std::int64_t empty_parameters =
        integer("empty_parameters", "", "parameters without elements behind the last layer; absent = none", 0,
                "stage");
    bool share_buffer = flag("share_buffer", "",
                             "gradients lie in the memory that parameters are fetched into, and a step waits "
                             "a twentieth longer for it",
                             "stage");
    Fetch fetch =
        choice<Fetch>("fetch", "",
                      "how parameters are fetched: all-gather, or all-reduce over a buffer in which "
                      "each rank fills its own place. Absent = all_gather",
                      {"all_gather", "all_reduce"});
};

inline scenarios::Kind zero_words() {
    scenarios::Kind kind =
        job_words("zero", "ZeRO stages 1, 2 and 3: optimizer state, gradients and parameters in shards");
    for (const char* seam :
         {"shard.offset", "shard.length", "gradient.divisor", "zero.stage", "loss.divisor", "sharding.size",
          "optimizer.index_bits", "pack.stride", "pack.filled", "gather.output", "gather.type",
          "scatter.input", "scatter.type", "tensor.dimension", "clip.formula"}) {
        kind.seams.emplace_back(seam);
    }
    for (const char* block :
         {"parameter.gather", "gradient.reduce", "parameters.broadcast", "secondary.invalidate",
          "partition.skip_empty", "offload.queue_guard", "gradient.accumulate", "buffer.clear", "pack.wait",
          "fetch.clear", "offload.copy_wait", "fetch.mark_empty", "fetch.own_memory"}) {
        kind.blocks.emplace_back(block);
    }
    add_backward_phase(kind);
    leave_out(kind, {"group."});  // it makes none beside the world
    add_whole_model_words(kind);
    return kind;
}

}  // namespace deadrank::sim
