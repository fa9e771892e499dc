// scenarios/model/cluster_choices.h — The choices of [cluster] as types. What each means is in cluster_parameters()
// (plan.h) and in scenarios/format/file_words.cpp. The first value holds where a plan states none.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "scenarios/model/enum_words.h"
#include "scenarios/model/value.h"

namespace deadrank::scenarios {

// Bare: no launcher watches the ranks, as with plain ssh or srun.
enum class LauncherKind : std::uint8_t { torchrun, bare, mpirun, test, replicas, spawn };
constexpr auto enum_words(LauncherKind) {
    return std::to_array<std::string_view>({"torchrun", "bare", "mpirun", "test", "replicas", "spawn"});
}

// Who keeps the rendezvous store: the process of rank 0; the launcher's agent on node 0; something beside the
// job, such as etcd.
enum class StoreLife : std::uint8_t { rank, agent, service };
constexpr auto enum_words(StoreLife) { return std::to_array<std::string_view>({"rank", "agent", "service"}); }

// Who counts the restarts that ranks are told of.
enum class RestartCount : std::uint8_t { job, agent };
constexpr auto enum_words(RestartCount) { return std::to_array<std::string_view>({"job", "agent"}); }

enum class WorkerFailure : std::uint8_t { raised, hidden };
constexpr auto enum_words(WorkerFailure) { return std::to_array<std::string_view>({"raised", "hidden"}); }

enum class TopologyKind : std::uint8_t { single_switch, rails, leaf_spine };
constexpr auto enum_words(TopologyKind) {
    return std::to_array<std::string_view>({"single_switch", "rails", "leaf_spine"});
}

enum class LibraryKind : std::uint8_t { nccl, gloo };
constexpr auto enum_words(LibraryKind) { return std::to_array<std::string_view>({"nccl", "gloo"}); }

// TORCH_DISTRIBUTED_DEBUG of the whole job.
enum class DebugLevel : std::uint8_t { off, detail };
constexpr auto enum_words(DebugLevel) { return std::to_array<std::string_view>({"off", "detail"}); }

// Of a value whose word the loader has checked; any other word counts as the first.
template <WordEnum Enum>
Enum choice_of(const Value& value) {
    return read_word<Enum>(value.text).value_or(Enum{});
}

}  // namespace deadrank::scenarios
