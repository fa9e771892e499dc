// inject/shims/profiler/profiler_plugin.cpp — The plugin that NCCL loads to tell what it does.

#include "inject/shims/profiler/watcher.h"

namespace deadrank::inject::shims {

namespace {

int begin(void** context, int* mask, const char* name, int ranks, int rank) {
    *mask = static_cast<int>(wanted_events());
    *context = *mask ? watch_comm(name, ranks, rank) : nullptr;
    return 0;
}
int init5(void** context, std::uint64_t, int* mask, const char* name, int, int ranks, int rank, ProfilerLog) {
    return begin(context, mask, name, ranks, rank);
}
int init4(void** context, int* mask, const char* name, std::uint64_t, int, int ranks, int rank, ProfilerLog) {
    const int code = begin(context, mask, name, ranks, rank);
    if (*mask) *mask |= static_cast<int>(event_coll | event_p2p);
    return code;
}

// Coll and P2p lie alike in both versions; version 4 has no events of the calls themselves, so there the
// moment of a fault is when NCCL enqueues what was called.
int start5(void* context, void** event, Event5* said) {
    *event = nullptr;
    auto* comm = static_cast<WatchedComm*>(context);
    if (!comm) return 0;
    switch (said->type) {
        case event_coll_api:
            comm->called(said->coll_api.function);
            break;
        case event_p2p_api:
            comm->called(said->p2p_api.function);
            break;
        case event_coll:
            *event = comm->start(said->coll);
            break;
        case event_p2p:
            *event = comm->start(said->p2p);
            break;
        case event_kernel_channel:
            *event = WatchedComm::start_kernel(static_cast<WatchedEvent*>(said->parent));
            break;
        default:
            break;
    }
    return 0;
}
int start4(void* context, void** event, Event4* said) {
    *event = nullptr;
    auto* comm = static_cast<WatchedComm*>(context);
    if (!comm) return 0;
    switch (said->type) {
        case event_coll:
            comm->called(said->coll.function);
            *event = comm->start(said->coll);
            break;
        case event_p2p:
            comm->called(said->p2p.function);
            *event = comm->start(said->p2p);
            break;
        case event_kernel_channel:
            *event = WatchedComm::start_kernel(static_cast<WatchedEvent*>(said->parent));
            break;
        default:
            break;
    }
    return 0;
}

int stop(void* event) {
    WatchedComm::stop(static_cast<WatchedEvent*>(event));
    return 0;
}
int record_state(void*, int, void*) { return 0; }

// Kernels may still be under way: what they need stays.
int finalize(void*) { return 0; }

}  // namespace

}  // namespace deadrank::inject::shims

#pragma GCC visibility push(default)
extern "C" {

namespace shims = deadrank::inject::shims;

extern const shims::Profiler5 ncclProfiler_v5;
extern const shims::Profiler4 ncclProfiler_v4;

const shims::Profiler5 ncclProfiler_v5 = {"deadrank",  shims::init5,        shims::start5,
                                          shims::stop, shims::record_state, shims::finalize};
const shims::Profiler4 ncclProfiler_v4 = {"deadrank",  shims::init4,        shims::start4,
                                          shims::stop, shims::record_state, shims::finalize};

}  // extern "C"
#pragma GCC visibility pop
