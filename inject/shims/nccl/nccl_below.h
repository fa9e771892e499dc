// inject/shims/nccl/nccl_below.h — The functions of the NCCL and the CUDA runtime that are loaded.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "inject/shims/nccl/nccl_abi.h"

namespace deadrank::inject::shims {

// ── The NCCL below us: the one that the program loaded, found at the first call of each function.

// The 52 public functions of NCCL 2.28. Older libraries lack some of them.
enum class Function : std::uint8_t {
    all_gather,
    all_reduce,
    all_to_all,
    bcast,
    broadcast,
    gather,
    recv,
    reduce,
    reduce_scatter,
    scatter,
    send,
    comm_abort,
    comm_count,
    comm_cu_device,
    comm_deregister,
    comm_destroy,
    comm_finalize,
    comm_get_async_error,
    comm_init_all,
    comm_init_rank,
    comm_init_rank_config,
    comm_init_rank_scalable,
    comm_register,
    comm_revoke,
    comm_shrink,
    comm_split,
    comm_user_rank,
    comm_window_deregister,
    comm_window_register,
    dev_comm_create,
    dev_comm_destroy,
    get_error_string,
    get_last_error,
    get_unique_id,
    get_version,
    gin_barrier_create_requirement,
    group_end,
    group_simulate_end,
    group_start,
    ll_a2a_calc_slots,
    ll_a2a_create_requirement,
    lsa_barrier_create_requirement,
    mem_alloc,
    mem_free,
    red_op_create_pre_mul_sum,
    red_op_destroy,
    reset_debug_init,
    team_lsa,
    team_rail,
    team_rank_to_lsa,
    team_rank_to_world,
    team_world,
    count
};

inline constexpr auto function_count = static_cast<std::size_t>(Function::count);

const char* symbol_of(Function which);  // "ncclAllReduce"
// The word for a plan's `before`: "all_reduce". Every function that makes a communicator is "comm_init".
const char* moment_of(Function which);

// The next ncclAllReduce after ours in the search order; else that of a libnccl.so.2 which a dlopen with
// RTLD_LOCAL hides. Null when there is none.
void* search(Function which);

inline void* find(Function which) {
    // Of the process, like the library itself: there is one NCCL below one interposer.
    static std::array<std::atomic<void*>, function_count> found{};
    auto& place = found[static_cast<std::size_t>(which)];
    if (void* known = place.load(std::memory_order_relaxed)) return known;
    void* const known = search(which);
    place.store(known, std::memory_order_relaxed);
    return known;
}

// What a call answers when this NCCL has no such function. Said once on stderr.
int missing(Function which);

template <class Shape>
Shape* real(Function which) {
    return reinterpret_cast<Shape*>(find(which));
}

// Streams and device memory through whichever of CUDA's two libraries the program has loaded: the runtime, or
// the driver below a runtime that is linked statically.
class Device {
public:
    Device();

    bool memory() const { return allocate_ && copy_ && wait_; }

    void* allocate(std::size_t bytes) const;  // null when there is none left
    bool copy(void* to, const void* from, std::size_t bytes, Stream stream) const;  // in the stream's order
    bool wait(Stream stream) const;

    // Runs `call` when the stream reaches this point. False when that cannot be promised: it is then dropped.
    bool when_done(Stream stream, void (*call)(void*), void* argument) const;

private:
    void* find(const char* runtime, const char* driver);

    bool is_runtime_ = false;
    void* library_ = nullptr;
    void *allocate_ = nullptr, *copy_ = nullptr, *wait_ = nullptr, *call_ = nullptr, *capturing_ = nullptr;
};

}  // namespace deadrank::inject::shims
