// inject/shims/net/plugin.cpp — The four tables that NCCL looks for. They differ in a few arguments, not in
// deeds.
#include "inject/shims/net/network.h"

namespace deadrank::inject::shims {

namespace {

int devices(int* count) {
    *count = 1;
    return 0;
}

int properties11(int, NetProperties11* into) {
    Network::here().properties(*into);
    return 0;
}
int properties10(int, NetProperties10* into) {
    NetProperties11 all;
    Network::here().properties(all);
    *into = all.common;
    return 0;
}
int properties8(int, NetProperties8* into) {
    NetProperties11 all;
    Network::here().properties(all);
    const NetProperties10& one = all.common;
    *into = {one.name,        one.pci_path,      one.guid,    one.pointers,   one.registration_is_global,
             one.speed,       one.port,          one.latency, one.most_comms, one.most_receives,
             one.device_type, one.device_version};
    return 0;
}

int init11(void** context, std::uint64_t, void*, NetLog, NetProfile) {
    *context = &Network::here();
    return 0;
}
int init10(NetLog, NetProfile) { return 0; }
int init8(NetLog) { return 0; }

int listen11(void*, int, void* handle, void** listener) { return Network::here().listen(handle, listener); }
int listen8(int, void* handle, void** listener) { return Network::here().listen(handle, listener); }
int connect11(void*, int, void* handle, void** connection, void**) {
    return Network::here().connect(handle, connection);
}
int connect10(int, void*, void* handle, void** connection, void**) {
    return Network::here().connect(handle, connection);
}
int connect8(int, void* handle, void** connection, void**) {
    return Network::here().connect(handle, connection);
}
int accept(void* listener, void** connection, void**) { return Network::here().accept(listener, connection); }

int register_memory(void*, void* data, std::size_t, int, void** made) {
    return Network::here().register_memory(data, made);
}
int register_dma(void*, void*, std::size_t, int, std::uint64_t, int, void**) {
    return 3;
}  // host memory only
int deregister_memory(void*, void*) { return 0; }

int send11(void* to, void* data, std::size_t size, int, void*, void*, void** request) {
    return Network::here().send(to, data, size, request);
}
int send9(void* to, void* data, std::size_t size, int, void*, void** request) {
    return Network::here().send(to, data, size, request);
}
int send8(void* to, void* data, int size, int, void*, void** request) {
    return Network::here().send(to, data, static_cast<std::uint64_t>(size), request);
}
int receive11(void* from, int count, void** data, std::size_t* sizes, int*, void**, void**, void** request) {
    return Network::here().receive(from, count, data, sizes[0], request);
}
int receive9(void* from, int count, void** data, std::size_t* sizes, int*, void**, void** request) {
    return Network::here().receive(from, count, data, sizes[0], request);
}
int receive8(void* from, int count, void** data, int* sizes, int*, void**, void** request) {
    return Network::here().receive(from, count, data, static_cast<std::uint64_t>(sizes[0]), request);
}

int flush(void*, int, void**, int*, void**, void** request) {
    *request = nullptr;  // host memory is visible as soon as it was written
    return 0;
}
int test(void* request, int* done, int* sizes) { return Network::here().test(request, done, sizes); }
int close_connection(void* one) {
    delete static_cast<Connection*>(one);
    return 0;
}
int close_listener(void* one) {
    delete static_cast<Listener*>(one);
    return 0;
}
int finalize(void*) { return 0; }
int set_attributes(void*, void*) { return 0; }

constexpr const char* name = "deadrank";
constexpr NetTail tail = {test, close_connection, close_connection, close_listener, nullptr, nullptr};

}  // namespace

}  // namespace deadrank::inject::shims

#pragma GCC visibility push(default)
extern "C" {

namespace shims = deadrank::inject::shims;

extern const shims::Net11 ncclNetPlugin_v11;
extern const shims::Net10 ncclNetPlugin_v10;
extern const shims::Net9 ncclNetPlugin_v9;
extern const shims::Net8 ncclNetPlugin_v8;

const shims::Net11 ncclNetPlugin_v11 = {shims::name,
                                        shims::init11,
                                        shims::devices,
                                        shims::properties11,
                                        shims::listen11,
                                        shims::connect11,
                                        shims::accept,
                                        shims::register_memory,
                                        shims::register_dma,
                                        shims::deregister_memory,
                                        shims::send11,
                                        shims::receive11,
                                        shims::flush,
                                        shims::tail,
                                        nullptr,
                                        shims::finalize,
                                        shims::set_attributes};
const shims::Net10 ncclNetPlugin_v10 = {
    shims::name,      shims::init10,    shims::devices,         shims::properties10, shims::listen8,
    shims::connect10, shims::accept,    shims::register_memory, shims::register_dma, shims::deregister_memory,
    shims::send11,    shims::receive11, shims::flush,           shims::tail,         nullptr};
const shims::Net9 ncclNetPlugin_v9 = {
    shims::name,     shims::init8,    shims::devices,         shims::properties10, shims::listen8,
    shims::connect8, shims::accept,   shims::register_memory, shims::register_dma, shims::deregister_memory,
    shims::send9,    shims::receive9, shims::flush,           shims::tail,         nullptr};
const shims::Net8 ncclNetPlugin_v8 = {
    shims::name,     shims::init8,    shims::devices,         shims::properties8,  shims::listen8,
    shims::connect8, shims::accept,   shims::register_memory, shims::register_dma, shims::deregister_memory,
    shims::send8,    shims::receive8, shims::flush,           shims::tail};

}  // extern "C"
#pragma GCC visibility pop
