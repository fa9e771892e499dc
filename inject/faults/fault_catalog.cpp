// inject/faults/fault_catalog.cpp — The table of faults: adding one is a row in a file of its family and a
// line here.
#include "inject/faults/fault_catalog.h"

namespace deadrank::inject {

extern const FaultRow kill_rank_row, exit_rank_row, stop_rank_row, pause_rank_row, slow_rank_row,
    kill_helper_row, preempt_job_row, lose_node_row, set_env_row, unset_env_row, swap_ranks_row,
    skew_version_row, patch_program_row, break_package_row, take_port_row, break_name_row, break_store_row,
    share_store_row, add_interface_row, remove_interface_row, lose_gpudirect_row, break_peer_access_row,
    close_ports_row, reorder_collective_row, skip_collective_row, resize_collective_row,
    retype_collective_row, reroot_collective_row, swap_operation_row, delay_collective_row, fail_call_row,
    hang_kernel_row, flip_bits_row, bend_value_row, shift_shard_row, skip_block_row, refuse_value_row,
    corrupt_checkpoint_row, tear_write_row, lose_write_row, stale_read_row, fill_storage_row,
    slow_storage_row, lock_storage_row, drop_link_row, slow_link_row, lose_packets_row, flap_link_row,
    partition_row, limit_memory_row, leak_memory_row, limit_host_row, device_fault_row, throttle_device_row,
    shift_clock_row;

const FaultCatalog& fault_catalog() {
    // clang-format off
    static const FaultCatalog kinds = {
        kill_rank_row,
        exit_rank_row,
        stop_rank_row,
        pause_rank_row,
        slow_rank_row,
        kill_helper_row,
        preempt_job_row,
        lose_node_row,
        set_env_row,
        unset_env_row,
        swap_ranks_row,
        skew_version_row,
        patch_program_row,
        break_package_row,
        take_port_row,
        break_name_row,
        break_store_row,
        share_store_row,
        add_interface_row,
        remove_interface_row,
        lose_gpudirect_row, break_peer_access_row, close_ports_row,
        reorder_collective_row,
        skip_collective_row,
        resize_collective_row,
        retype_collective_row,
        reroot_collective_row,
        swap_operation_row,
        delay_collective_row,
        fail_call_row,
        hang_kernel_row,
        flip_bits_row,
        bend_value_row,
        shift_shard_row,
        skip_block_row,
        refuse_value_row,
        corrupt_checkpoint_row,
        tear_write_row,
        lose_write_row,
        stale_read_row,
        fill_storage_row,
        slow_storage_row,
        lock_storage_row,
        drop_link_row,
        slow_link_row,
        lose_packets_row,
        flap_link_row,
        partition_row,
        limit_memory_row,
        leak_memory_row,
        limit_host_row,
        device_fault_row,
        throttle_device_row,
        shift_clock_row,
    };
    // clang-format on
    return kinds;
}

}  // namespace deadrank::inject
