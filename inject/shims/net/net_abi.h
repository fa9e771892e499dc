// inject/shims/net/net_abi.h — NCCL's interface of network plugins, in the versions that we answer.
#pragma once

#include <cstddef>
#include <cstdint>

namespace deadrank::inject::shims {

inline constexpr std::size_t net_handle_bytes = 128;
inline constexpr int pointer_host = 1;

using NetLog = void (*)(int level, unsigned long flags, const char* file, int line, const char* form, ...);
using NetProfile = int (*)(void** handle, int type, void* parent, std::int64_t id, void* data);

struct NetDevices {  // a NIC made of several
    int count;
    int devices[4];
};

struct NetProperties8 {
    char *name, *pci_path;
    std::uint64_t guid;
    int pointers, registration_is_global, speed, port;
    float latency;
    int most_comms, most_receives, device_type, device_version;
};

struct NetProperties10 {  // of 9, too
    char *name, *pci_path;
    std::uint64_t guid;
    int pointers, registration_is_global, force_flush, speed, port;
    float latency;
    int most_comms, most_receives, device_type, device_version;
    NetDevices virtual_device;
    std::size_t most_message_bytes, most_collective_bytes;
};

struct NetProperties11 {
    NetProperties10 common;
    int most_requests_in_one;
};

// What versions 8 to 11 have in common, in the places where they have it.
struct NetTail {
    int (*test)(void* request, int* done, int* sizes);
    int (*close_send)(void*);
    int (*close_receive)(void*);
    int (*close_listen)(void*);
    int (*device_registration)(void*, void*, void**);
    int (*receive_consumed)(void*, int, void*);
};
using NetAccept = int (*)(void* listener, void** connection, void** device);
using NetRegister = int (*)(void* comm, void* data, std::size_t bytes, int type, void** made);
using NetRegisterDma = int (*)(void*, void*, std::size_t, int, std::uint64_t, int, void**);
using NetDeregister = int (*)(void* comm, void* made);
using NetFlush = int (*)(void*, int, void**, int*, void**, void** request);
using NetSend9 = int (*)(void*, void*, std::size_t, int tag, void*, void** request);
using NetReceive9 = int (*)(void*, int, void**, std::size_t*, int*, void**, void** request);
using NetSend11 = int (*)(void*, void*, std::size_t, int tag, void*, void* parent, void** request);
using NetReceive11 = int (*)(void*, int, void**, std::size_t*, int*, void**, void** parents, void** request);

struct Net8 {
    const char* name;
    int (*init)(NetLog);
    int (*devices)(int*);
    int (*properties)(int, NetProperties8*);
    int (*listen)(int, void* handle, void** listener);
    int (*connect)(int, void* handle, void** connection, void** device);
    NetAccept accept;
    NetRegister register_memory;
    NetRegisterDma register_dma;
    NetDeregister deregister_memory;
    int (*send)(void*, void*, int, int tag, void*, void** request);
    int (*receive)(void*, int, void**, int*, int*, void**, void** request);
    NetFlush flush;
    NetTail tail;
};

struct Net9 {
    const char* name;
    int (*init)(NetLog);
    int (*devices)(int*);
    int (*properties)(int, NetProperties10*);
    int (*listen)(int, void* handle, void** listener);
    int (*connect)(int, void* handle, void** connection, void** device);
    NetAccept accept;
    NetRegister register_memory;
    NetRegisterDma register_dma;
    NetDeregister deregister_memory;
    NetSend9 send;
    NetReceive9 receive;
    NetFlush flush;
    NetTail tail;
    int (*make_virtual_device)(int*, NetDevices*);
};

struct Net10 {
    const char* name;
    int (*init)(NetLog, NetProfile);
    int (*devices)(int*);
    int (*properties)(int, NetProperties10*);
    int (*listen)(int, void* handle, void** listener);
    int (*connect)(int, void* settings, void* handle, void** connection, void** device);
    NetAccept accept;
    NetRegister register_memory;
    NetRegisterDma register_dma;
    NetDeregister deregister_memory;
    NetSend11 send;
    NetReceive11 receive;
    NetFlush flush;
    NetTail tail;
    int (*make_virtual_device)(int*, NetDevices*);
};

struct Net11 {
    const char* name;
    int (*init)(void** context, std::uint64_t comm, void* settings, NetLog, NetProfile);
    int (*devices)(int*);
    int (*properties)(int, NetProperties11*);
    int (*listen)(void* context, int, void* handle, void** listener);
    int (*connect)(void* context, int, void* handle, void** connection, void** device);
    NetAccept accept;
    NetRegister register_memory;
    NetRegisterDma register_dma;
    NetDeregister deregister_memory;
    NetSend11 send;
    NetReceive11 receive;
    NetFlush flush;
    NetTail tail;
    int (*make_virtual_device)(int*, NetDevices*);
    int (*finalize)(void* context);
    int (*set_attributes)(void* context, void* attributes);
};

}  // namespace deadrank::inject::shims
