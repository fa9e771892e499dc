// tests/programs/shims/net_wire.h — NCCL's side of a network plugin, for each version of the interface: the
// calls that it makes, in the order in which it makes them.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <functional>
#include <string>

#include "inject/shims/net/net_abi.h"

namespace deadrank::tests {

struct Wire {
    std::string name;
    int speed = 0;
    std::function<int(void* handle, void** listener)> listen;
    std::function<int(void* handle, void** connection)> connect;
    std::function<int(void* listener, void** connection)> accept;
    std::function<int(void* comm, void* data, std::size_t bytes, void** made)> register_memory;
    std::function<int(void*, void*, std::size_t, void** request)> send;
    std::function<int(void*, void*, std::size_t, void** request)> receive;
    std::function<int(void* request, int* done, int* size)> test;
    std::function<int(void*)> close_send, close_receive, close_listen;
};

namespace wire_detail {

namespace shims = deadrank::inject::shims;

template <class Net>
void common(Wire& wire, const Net& net) {
    wire.name = net.name;
    wire.accept = [&net](void* from, void** made) { return net.accept(from, made, nullptr); };
    wire.register_memory = [&net](void* comm, void* data, std::size_t bytes, void** made) {
        return net.register_memory(comm, data, bytes, shims::pointer_host, made);
    };
    wire.test = net.tail.test;
    wire.close_send = net.tail.close_send;
    wire.close_receive = net.tail.close_receive;
    wire.close_listen = net.tail.close_listen;
}

template <class Properties, class Net>
int speed_of(const Net& net) {
    Properties seen{};
    int count = 0;
    if (net.devices(&count) != 0 || count != 1 || net.properties(0, &seen) != 0) return -1;
    if constexpr (requires { seen.common; }) {
        return seen.common.speed;
    } else {
        return seen.speed;
    }
}

template <class Net>
void listens_without_context(Wire& wire, const Net& net) {
    wire.listen = [&net](void* handle, void** made) { return net.listen(0, handle, made); };
}

template <class Net>
void moves_with_parents(Wire& wire, const Net& net) {
    wire.send = [&net](void* to, void* data, std::size_t size, void** request) {
        return net.send(to, data, size, 0, nullptr, nullptr, request);
    };
    wire.receive = [&net](void* from, void* data, std::size_t size, void** request) {
        int tag = 0;
        void *memory = nullptr, *parent = nullptr;
        return net.receive(from, 1, &data, &size, &tag, &memory, &parent, request);
    };
}

template <class Size, class Net>
void moves_without_parents(Wire& wire, const Net& net) {
    wire.send = [&net](void* to, void* data, std::size_t size, void** request) {
        return net.send(to, data, static_cast<Size>(size), 0, nullptr, request);
    };
    wire.receive = [&net](void* from, void* data, std::size_t size, void** request) {
        int tag = 0;
        void* memory = nullptr;
        auto fits = static_cast<Size>(size);
        return net.receive(from, 1, &data, &fits, &tag, &memory, request);
    };
}

inline bool take(Wire& wire, const shims::Net11& net) {
    void* context = nullptr;
    int settings = -1;
    if (net.init(&context, 1, &settings, nullptr, nullptr) != 0) return false;
    wire.speed = speed_of<shims::NetProperties11>(net);
    wire.listen = [&net, context](void* handle, void** made) { return net.listen(context, 0, handle, made); };
    wire.connect = [&net, context](void* handle, void** made) {
        return net.connect(context, 0, handle, made, nullptr);
    };
    moves_with_parents(wire, net);
    return true;
}
inline bool take(Wire& wire, const shims::Net10& net) {
    if (net.init(nullptr, nullptr) != 0) return false;
    wire.speed = speed_of<shims::NetProperties10>(net);
    listens_without_context(wire, net);
    wire.connect = [&net](void* handle, void** made) {
        int settings = -1;
        return net.connect(0, &settings, handle, made, nullptr);
    };
    moves_with_parents(wire, net);
    return true;
}
inline bool take(Wire& wire, const shims::Net9& net) {
    if (net.init(nullptr) != 0) return false;
    wire.speed = speed_of<shims::NetProperties10>(net);
    listens_without_context(wire, net);
    wire.connect = [&net](void* handle, void** made) { return net.connect(0, handle, made, nullptr); };
    moves_without_parents<std::size_t>(wire, net);
    return true;
}
inline bool take(Wire& wire, const shims::Net8& net) {
    if (net.init(nullptr) != 0) return false;
    wire.speed = speed_of<shims::NetProperties8>(net);
    listens_without_context(wire, net);
    wire.connect = [&net](void* handle, void** made) { return net.connect(0, handle, made, nullptr); };
    moves_without_parents<int>(wire, net);
    return true;
}

template <class Net>
bool load(Wire& wire, void* table) {
    const Net& net = *static_cast<const Net*>(table);
    common(wire, net);
    return take(wire, net);
}

}  // namespace wire_detail

// As NCCL does: dlopen, then the symbol of one version.
inline bool load_wire(Wire& wire, const char* plugin, int version) {
    void* library = ::dlopen(plugin, RTLD_NOW | RTLD_LOCAL);
    void* table = library ? ::dlsym(library, ("ncclNetPlugin_v" + std::to_string(version)).c_str()) : nullptr;
    if (!table) {
        std::fprintf(stderr, "%s\n", ::dlerror());
        return false;
    }
    switch (version) {
        case 11:
            return wire_detail::load<wire_detail::shims::Net11>(wire, table);
        case 10:
            return wire_detail::load<wire_detail::shims::Net10>(wire, table);
        case 9:
            return wire_detail::load<wire_detail::shims::Net9>(wire, table);
        default:
            return wire_detail::load<wire_detail::shims::Net8>(wire, table);
    }
}

}  // namespace deadrank::tests
