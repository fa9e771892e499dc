// results/record/event_names.h — The names in evidence that detectors know, as types, so that a misspelt one does
// not compile. Evidence keeps names as texts: programs, hooks and imported logs may state any others.
#pragma once

#include <cstdint>
#include <string_view>

#include "scenarios/model/enum_words.h"

namespace deadrank::results {

// Of RankConfig.
enum class ConfigName : std::uint8_t {
    rank,
    seed,
    steps,
    world_size,
    host_memory,     // bytes that a process may hold
    observed_ranks,  // of the job as a whole: those whose evidence was kept
    data_replica,    // which replica's samples a rank reads
    learning_rate,
    learning_rate_ppb,  // the same in billionths, as the simulator's programs count
    expected_throughput,
};
constexpr auto enum_words(ConfigName) {
    return std::to_array<std::string_view>({"rank", "seed", "steps", "world_size", "host_memory",
                                            "observed_ranks", "data.replica", "learning_rate",
                                            "learning_rate_ppb", "expected_throughput"});
}

// Of ValueSample.
enum class SampleName : std::uint8_t {
    step_time,
    learning_rate,
    loss_scale,
    evaluation_samples,  // that an evaluation counted
    resident_memory,     // bytes that a process holds
    processor_wait,      // seconds that a rank's own thread had no processor
    transfer_wait,       // the same of the library's thread that reports the end of calls
    message_wait,        // seconds until now that a rank's own thread waited for messages, sent or received
    random_state,        // a digest of all generators as a step begins, in jobs that may be restarted
};
constexpr auto enum_words(SampleName) {
    return std::to_array<std::string_view>({"step_time", "learning_rate", "loss_scale", "evaluation.samples",
                                            "resident_memory", "processor_wait", "transfer_wait",
                                            "message_wait", "random_state"});
}

// Of ParametersDigest: what a checkpoint gave back.
enum class DigestName : std::uint8_t { restored };
constexpr auto enum_words(DigestName) { return std::to_array<std::string_view>({"restored"}); }

// Of DeviceBind, which says when each is recorded.
enum class BoundPart : std::uint8_t { model, context, weights };
constexpr auto enum_words(BoundPart) {
    return std::to_array<std::string_view>({"model", "context", "weights"});
}

// Of MemoryOom.
enum class MemoryPlace : std::uint8_t { device, host, shared, pinned };
constexpr auto enum_words(MemoryPlace) {
    return std::to_array<std::string_view>({"device", "host", "shared", "pinned"});
}

// Of a communicator: all ranks, and the groups whose members read samples together.
enum class GroupName : std::uint8_t { world, tensor, context, pipeline };
constexpr auto enum_words(GroupName) { return std::to_array<std::string_view>({"world", "tp", "cp", "pp"}); }

// Of JobStart, where logs of a real job were read.
enum class JobOrigin : std::uint8_t { imported };
constexpr auto enum_words(JobOrigin) { return std::to_array<std::string_view>({"imported"}); }

constexpr bool operator==(std::string_view text, ConfigName name) {
    return text == scenarios::enum_name(name);
}
constexpr bool operator==(std::string_view text, SampleName name) {
    return text == scenarios::enum_name(name);
}
constexpr bool operator==(std::string_view text, DigestName name) {
    return text == scenarios::enum_name(name);
}
constexpr bool operator==(std::string_view text, BoundPart part) {
    return text == scenarios::enum_name(part);
}
constexpr bool operator==(std::string_view text, MemoryPlace place) {
    return text == scenarios::enum_name(place);
}
constexpr bool operator==(std::string_view text, GroupName name) {
    return text == scenarios::enum_name(name);
}
constexpr bool operator==(std::string_view text, JobOrigin origin) {
    return text == scenarios::enum_name(origin);
}

}  // namespace deadrank::results
