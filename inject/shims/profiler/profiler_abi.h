// inject/shims/profiler/profiler_abi.h — NCCL's interface of profiler plugins.
#pragma once

#include <cstddef>
#include <cstdint>

namespace deadrank::inject::shims {

// Kinds of events, as bits of the mask with which a plugin asks for them.
inline constexpr std::uint64_t event_coll = 1U << 1, event_p2p = 1U << 2, event_kernel_channel = 1U << 6,
                               event_coll_api = 1U << 9, event_p2p_api = 1U << 10;

using ProfilerLog = void (*)(int level, unsigned long flags, const char* file, int line, const char* form,
                             ...);

struct CollApi {
    const char* function;  // "AllReduce"
    std::size_t count;
    const char* dtype;  // "ncclFloat32"
    int root;
    void* stream;
    bool captured;
};
struct P2pApi {
    const char* function;
    std::size_t count;
    const char* dtype;
    void* stream;
    bool captured;
};
struct Coll {
    std::uint64_t sequence;
    const char* function;
    const void* send;
    void* receive;
    std::size_t count;
    int root;
    const char* dtype;
    std::uint8_t channels, warps;
    const char *algorithm, *protocol;
    void* parent_group;  // of version 5
};
struct P2p {
    const char* function;
    void* buffer;
    const char* dtype;
    std::size_t count;
    int peer;
    std::uint8_t channels;
    void* parent_group;  // of version 5
};

struct Event5 {
    std::uint64_t type;
    void* parent;
    int rank;
    union {
        CollApi coll_api;
        P2pApi p2p_api;
        Coll coll;
        P2p p2p;
    };
};
struct Event4 {
    std::uint8_t type;
    void* parent;
    int rank;
    union {
        Coll coll;
        P2p p2p;
    };
};

struct Profiler5 {
    const char* name;
    int (*init)(void** context, std::uint64_t comm, int* mask, const char* comm_name, int nodes, int ranks,
                int rank, ProfilerLog);
    int (*start)(void* context, void** event, Event5*);
    int (*stop)(void* event);
    int (*record_state)(void* event, int state, void* arguments);
    int (*finalize)(void* context);
};
struct Profiler4 {
    const char* name;
    int (*init)(void** context, int* mask, const char* comm_name, std::uint64_t comm, int nodes, int ranks,
                int rank, ProfilerLog);
    int (*start)(void* context, void** event, Event4*);
    int (*stop)(void* event);
    int (*record_state)(void* event, int state, void* arguments);
    int (*finalize)(void* context);
};

}  // namespace deadrank::inject::shims
