// inject/shims/sockets/sockets.cpp — The link between two ranks, broken or slow: put before libc's calls that
// send. A dead link takes nothing from its sender, as a full send buffer does; so what was under way when it
// comes back is neither lost nor sent twice.
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <dlfcn.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <optional>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>

namespace {

enum Link : int { whole = 0, silent = 1, cut = 2 };

std::atomic<int> link_now{whole};
std::atomic<std::int64_t> late{0};  // nanoseconds that each message waits

void wait(std::int64_t nanoseconds) {
    const timespec span{nanoseconds / 1'000'000'000, nanoseconds % 1'000'000'000};
    nanosleep(&span, nullptr);
}

using NameOf = int (*)(int, sockaddr*, socklen_t*);

// Of one end of a TCP connection; -1 for whatever is none.
int port_of(int descriptor, NameOf name_of) {
    sockaddr_storage address{};
    socklen_t length = sizeof address;
    if (name_of(descriptor, reinterpret_cast<sockaddr*>(&address), &length) != 0) return -1;
    if (address.ss_family == AF_INET) return ntohs(reinterpret_cast<sockaddr_in*>(&address)->sin_port);
    if (address.ss_family == AF_INET6) return ntohs(reinterpret_cast<sockaddr_in6*>(&address)->sin6_port);
    return -1;
}

// What leads to a peer. The store, at MASTER_PORT on either end, is reached another way.
bool leads_to_a_peer(int descriptor) {
    static const int store = std::getenv("MASTER_PORT") ? std::atoi(std::getenv("MASTER_PORT")) : -1;
    const int there = port_of(descriptor, getpeername);
    return there > 0 && there != store && port_of(descriptor, getsockname) != store;
}

// What the call answers instead of sending; nothing when it may send.
std::optional<ssize_t> instead_of_sending(int descriptor) {
    const bool healthy = link_now.load() == whole && late.load() == 0;
    if (healthy || !leads_to_a_peer(descriptor)) return {};
    if (const std::int64_t span = late.load(); span > 0) wait(span);
    if (link_now.load() == cut) shutdown(descriptor, SHUT_RDWR);  // what the call then meets is real
    const bool may_wait = (fcntl(descriptor, F_GETFL) & O_NONBLOCK) == 0;
    while (link_now.load() == silent) {
        wait(2'000'000);  // a caller that asks again at once burns no core
        if (may_wait) continue;
        errno = EAGAIN;
        return -1;
    }
    return {};
}

template <class Call>
Call behind(const char* name) {
    return reinterpret_cast<Call>(dlsym(RTLD_NEXT, name));
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

ssize_t writev(int descriptor, const iovec* parts, int count) {
    static const auto real = behind<ssize_t (*)(int, const iovec*, int)>("writev");
    if (const auto answer = instead_of_sending(descriptor)) return *answer;
    return real(descriptor, parts, count);
}

ssize_t send(int descriptor, const void* data, size_t length, int flags) {
    static const auto real = behind<ssize_t (*)(int, const void*, size_t, int)>("send");
    if (const auto answer = instead_of_sending(descriptor)) return *answer;
    return real(descriptor, data, length, flags);
}

ssize_t sendmsg(int descriptor, const msghdr* message, int flags) {
    static const auto real = behind<ssize_t (*)(int, const msghdr*, int)>("sendmsg");
    if (const auto answer = instead_of_sending(descriptor)) return *answer;
    return real(descriptor, message, flags);
}

// By the rank's own hook, at the moment of a fault.
void deadrank_link(int state, std::int64_t nanoseconds_late) {
    late.store(std::max<std::int64_t>(0, nanoseconds_late));
    link_now.store(state == silent || state == cut ? state : whole);
}
}
#pragma GCC visibility pop
