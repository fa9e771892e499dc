// inject/faults/catalog.cpp — The table of faults: adding one is a file in faults/ and a line here.
#include "inject/faults/add_interface.h"
#include "inject/faults/bend_value.h"
#include "inject/faults/break_name.h"
#include "inject/faults/break_package.h"
#include "inject/faults/break_store.h"
#include "inject/faults/corrupt_checkpoint.h"
#include "inject/faults/delay_collective.h"
#include "inject/faults/device_fault.h"
#include "inject/faults/drop_link.h"
#include "inject/faults/exit_rank.h"
#include "inject/faults/fail_call.h"
#include "inject/faults/fill_storage.h"
#include "inject/faults/flap_link.h"
#include "inject/faults/flip_bits.h"
#include "inject/faults/hang_kernel.h"
#include "inject/faults/kill_rank.h"
#include "inject/faults/leak_memory.h"
#include "inject/faults/limit_host.h"
#include "inject/faults/limit_memory.h"
#include "inject/faults/lock_storage.h"
#include "inject/faults/lose_node.h"
#include "inject/faults/lose_packets.h"
#include "inject/faults/lose_write.h"
#include "inject/faults/partition.h"
#include "inject/faults/pause_rank.h"
#include "inject/faults/preempt_job.h"
#include "inject/faults/reorder_collective.h"
#include "inject/faults/reroot_collective.h"
#include "inject/faults/resize_collective.h"
#include "inject/faults/retype_collective.h"
#include "inject/faults/set_env.h"
#include "inject/faults/shift_clock.h"
#include "inject/faults/shift_shard.h"
#include "inject/faults/skew_version.h"
#include "inject/faults/skip_block.h"
#include "inject/faults/skip_collective.h"
#include "inject/faults/slow_link.h"
#include "inject/faults/slow_rank.h"
#include "inject/faults/slow_storage.h"
#include "inject/faults/stale_read.h"
#include "inject/faults/stop_rank.h"
#include "inject/faults/swap_operation.h"
#include "inject/faults/swap_ranks.h"
#include "inject/faults/take_port.h"
#include "inject/faults/tear_write.h"
#include "inject/faults/throttle_device.h"
#include "inject/faults/unset_env.h"

namespace deadrank::inject {

const std::vector<FaultKind>& fault_catalog() {
    static const std::vector<FaultKind> kinds = {
        kill_rank(),          exit_rank(),          stop_rank(),         pause_rank(),
        slow_rank(),          preempt_job(),        lose_node(),         set_env(),
        unset_env(),          swap_ranks(),         skew_version(),      break_package(),
        take_port(),          break_name(),         break_store(),       add_interface(),
        reorder_collective(), skip_collective(),    resize_collective(), retype_collective(),
        reroot_collective(),  swap_operation(),     delay_collective(),  fail_call(),
        hang_kernel(),        flip_bits(),          bend_value(),        shift_shard(),
        skip_block(),         corrupt_checkpoint(), tear_write(),        lose_write(),
        stale_read(),         fill_storage(),       slow_storage(),      lock_storage(),
        drop_link(),          slow_link(),          lose_packets(),      flap_link(),
        partition(),          limit_memory(),       leak_memory(),       limit_host(),
        device_fault(),       throttle_device(),    shift_clock(),
    };
    return kinds;
}

}  // namespace deadrank::inject
