// inject/shims/net/net_plugin.cpp — The plugin that NCCL loads: a network over sockets that obeys the plan.
#include "inject/shims/net/net_plugin.h"

#include <algorithm>
#include <cstring>

#include "inject/shims/core/session.h"

namespace deadrank::inject::shims {

// ── Pointers that NCCL holds are ours until it closes them.

namespace {

constexpr int nccl_success = 0, nccl_system_error = 2, nccl_internal_error = 3;

bool is_due(const Treatment& treatment) {
    return !treatment.stalled && NetClock::now() >= treatment.not_before;
}

}  // namespace

Network& Network::here() {
    static Network* const one = new Network;
    return *one;
}

Treatment Network::decide_treatment(const char* moment, std::uint64_t size, bool waits) {
    Treatment treatment;
    RankSession& rank = session_.rank();
    const Decision decision = rank.faults.at(moment);
    if (!decision.any) return treatment;
    const Alteration& how = decision.alteration;
    treatment.dropped = how.skip;
    treatment.stalled = how.never_completes;
    treatment.flip_bit = how.flip_bit;
    if (how.answer != results::Code::ok) treatment.failure = static_cast<int>(how.answer);
    if (treatment.failure > nccl_remote_error) treatment.failure = nccl_internal_error;
    auto start = NetClock::now();
    if (decision.bytes_per_second > 0) {
        const std::lock_guard lock(guard_);
        const double seconds = static_cast<double>(size) / static_cast<double>(decision.bytes_per_second);
        const auto takes =
            std::chrono::duration_cast<NetClock::duration>(std::chrono::duration<double>(seconds));
        start = line_free_ = std::max(start, line_free_) + takes;
    }
    treatment.not_before = start + how.delay;
    if (waits) {
        sleep_for(how.delay.count());
        if (treatment.stalled) sleep_forever();
    }
    return treatment;
}

int Network::listen(void* handle, void** listener) {
    const Treatment treatment = decide_treatment("net.listen", 0, true);
    if (treatment.failure) return treatment.failure;
    std::memset(handle, 0, net_handle_bytes);
    Handle mine{};
    auto made = Listener::open(io_, mine);
    std::memcpy(handle, &mine, sizeof mine);
    *listener = made.release();
    return *listener ? nccl_success : nccl_system_error;
}

int Network::connect(void* handle, void** connection) {
    *connection = nullptr;
    Handle other{};
    std::memcpy(&other, handle, sizeof other);
    if (other.magic != handle_magic) return nccl_internal_error;
    if (!other.calling) {
        auto* calling = new Calling(io_, other);
        calling->treatment = decide_treatment("net.connect", 0, false);
        other.calling = calling;
        std::memcpy(handle, &other, sizeof other);
    }
    auto* calling = static_cast<Calling*>(other.calling);
    calling->look();
    const bool failed = calling->treatment.failure || calling->failed();
    if (!failed && (!calling->done() || !is_due(calling->treatment))) return nccl_success;
    const int code = calling->treatment.failure ? calling->treatment.failure
                     : failed                   ? nccl_remote_error
                                                : nccl_success;
    if (!failed) *connection = calling->take().release();
    delete calling;
    other.calling = nullptr;
    std::memcpy(handle, &other, sizeof other);
    return code;
}

int Network::accept(void* listener, void** connection) {
    *connection = nullptr;
    auto& mine = *static_cast<Listener*>(listener);
    if (!mine.asked) mine.treatment = decide_treatment("net.accept", 0, false);
    mine.asked = true;
    if (mine.treatment.failure) {
        mine.asked = false;
        return mine.treatment.failure;
    }
    if (!is_due(mine.treatment)) return nccl_success;
    *connection = mine.accept().release();
    if (*connection) mine.asked = false;
    return nccl_success;
}

int Network::register_memory(void* data, void** made) {
    const Treatment treatment = decide_treatment("net.reg_mr", 0, true);
    *made = data;  // host memory needs no registration; NCCL wants to see that it has one
    return treatment.failure;
}

int Network::send(void* connection, void* data, std::uint64_t size, void** request) {
    const Treatment treatment = decide_treatment("net.isend", size, false);
    *request = nullptr;
    if (treatment.failure) return treatment.failure;
    auto& mine = *static_cast<Connection*>(connection);
    *request = mine.start(true, data, size, treatment).release();
    (void)mine.progress();  // trouble is reported by test
    return nccl_success;
}

int Network::receive(void* connection, int count, void** data, std::uint64_t size, void** request) {
    *request = nullptr;
    if (count != 1) return nccl_internal_error;  // we said that we take one at a time
    const Treatment treatment = decide_treatment("net.irecv", size, false);
    if (treatment.failure) return treatment.failure;
    *request = static_cast<Connection*>(connection)->start(false, data[0], size, treatment).release();
    return nccl_success;
}

int Network::test(void* request, int* done, int* sizes) {
    auto* mine = static_cast<Request*>(request);
    *done = 0;
    const Treatment treatment = decide_treatment("net.test", 0, true);
    if (treatment.failure) return treatment.failure;
    const int code = mine->done ? nccl_success : mine->connection->progress();
    if (code != nccl_success) return code;
    if (!mine->done) return nccl_success;
    *done = 1;
    if (sizes) sizes[0] = static_cast<int>(mine->size);
    delete mine;
    return nccl_success;
}

void Network::properties(NetProperties11& into) const {
    static char name[] = "deadrank";
    constexpr std::size_t two_gibibytes = std::size_t{1} << 31;
    into = {};
    NetProperties10& common = into.common;
    common.name = name;
    common.pointers = pointer_host;
    common.speed = 10000;
    common.port = 1;
    common.most_comms = 65536;
    common.most_receives = 1;
    common.virtual_device.count = 1;
    common.most_message_bytes = common.most_collective_bytes = two_gibibytes;
    into.most_requests_in_one = 1;
}

// ── The four tables that NCCL looks for. They differ in a few arguments, not in what they do.

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
