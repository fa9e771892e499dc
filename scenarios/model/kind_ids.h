// scenarios/model/kind_ids.h — The kinds of faults and of workloads that this project ships, as types, so
// that a misspelt one does not compile. The catalogues are made from these lists. Scenarios and plans keep
// kinds as texts: a user's program may add its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace deadrank::scenarios {

// Each names a row <name>_row of inject/faults; inject/faults/fault_catalog.h has them in this order.
// clang-format off
#define DEADRANK_FAULTS(X) \
    X(kill_rank) \
    X(exit_rank) \
    X(stop_rank) \
    X(pause_rank) \
    X(slow_rank) \
    X(kill_helper) \
    X(preempt_job) \
    X(lose_node) \
    X(set_env) \
    X(unset_env) \
    X(swap_ranks) \
    X(skew_version) \
    X(patch_program) \
    X(break_package) \
    X(take_port) \
    X(break_name) \
    X(break_store) \
    X(share_store) \
    X(add_interface) \
    X(remove_interface) \
    X(lose_gpudirect) \
    X(break_peer_access) \
    X(close_ports) \
    X(reorder_collective) \
    X(skip_collective) \
    X(resize_collective) \
    X(retype_collective) \
    X(reroot_collective) \
    X(swap_operation) \
    X(delay_collective) \
    X(fail_call) \
    X(hang_kernel) \
    X(flip_bits) \
    X(bend_value) \
    X(shift_shard) \
    X(skip_block) \
    X(refuse_value) \
    X(corrupt_checkpoint) \
    X(tear_write) \
    X(lose_write) \
    X(stale_read) \
    X(fill_storage) \
    X(slow_storage) \
    X(lock_storage) \
    X(drop_link) \
    X(slow_link) \
    X(lose_packets) \
    X(flap_link) \
    X(partition) \
    X(limit_memory) \
    X(leak_memory) \
    X(limit_host) \
    X(device_fault) \
    X(throttle_device) \
    X(shift_clock)

// Likewise of sim/workloads; sim/workloads/workload_catalog.h has them in this order.
#define DEADRANK_WORKLOADS(X) \
    X(data_parallel) \
    X(zero) \
    X(tensor_parallel) \
    X(pipeline) \
    X(expert_parallel) \
    X(fsdp) \
    X(context_parallel) \
    X(mixed_precision) \
    X(serving) \
    X(reshard) \
    X(elastic)
// clang-format on

#define DEADRANK_NAME(id) id,
#define DEADRANK_TEXT(id) #id,

enum class FaultId : std::uint8_t { DEADRANK_FAULTS(DEADRANK_NAME) };
enum class WorkloadId : std::uint8_t { DEADRANK_WORKLOADS(DEADRANK_NAME) };

inline constexpr const char* fault_ids[] = {DEADRANK_FAULTS(DEADRANK_TEXT)};
inline constexpr const char* workload_ids[] = {DEADRANK_WORKLOADS(DEADRANK_TEXT)};

#undef DEADRANK_NAME
#undef DEADRANK_TEXT

// The kind as files write it.
constexpr const char* id_of(FaultId fault) { return fault_ids[static_cast<std::size_t>(fault)]; }
constexpr const char* id_of(WorkloadId workload) { return workload_ids[static_cast<std::size_t>(workload)]; }

constexpr bool operator==(std::string_view kind, FaultId fault) { return kind == id_of(fault); }
constexpr bool operator==(std::string_view kind, WorkloadId workload) { return kind == id_of(workload); }

}  // namespace deadrank::scenarios
