// inject/shims/sockets/sockets.cpp — Breaks or slows the link between two ranks, or flips a bit on it, by
// wrapping libc's calls that send. A dead link takes nothing from its sender, as a full send buffer does, so
// that no data is lost or sent twice when it comes back.
#include <algorithm>
#include <array>
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

std::atomic<std::int64_t> flip_at{-1};  // which bit of the next message's content; -1 = none

void wait(std::int64_t nanoseconds) {
    const timespec span{nanoseconds / 1'000'000'000, nanoseconds % 1'000'000'000};
    nanosleep(&span, nullptr);
}

using NameOf = int (*)(int, sockaddr*, socklen_t*);

// Of one end of a TCP connection; -1 for anything else.
int port_of(int descriptor, NameOf name_of) {
    sockaddr_storage address{};
    socklen_t length = sizeof address;
    if (name_of(descriptor, reinterpret_cast<sockaddr*>(&address), &length) != 0) return -1;
    if (address.ss_family == AF_INET) return ntohs(reinterpret_cast<sockaddr_in*>(&address)->sin_port);
    if (address.ss_family == AF_INET6) return ntohs(reinterpret_cast<sockaddr_in6*>(&address)->sin6_port);
    return -1;
}

// A connection to a peer. One with MASTER_PORT at either end leads to the store instead.
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

using Writev = ssize_t (*)(int, const iovec*, int);

// gloo writes a header and the content behind it by one call: a bit is turned in the content, in a byte of
// our own, so that what the sender has stays as it is. Nothing when this call carries no such bit.
std::optional<ssize_t> with_a_bit_turned(Writev real, int descriptor, const iovec* parts, int count) {
    std::array<iovec, 8> split{};
    if (flip_at.load() < 0 || count < 2 || count + 2 > static_cast<int>(split.size())) return {};
    if (!leads_to_a_peer(descriptor)) return {};
    const std::int64_t bit = flip_at.exchange(-1);  // another thread may have been quicker
    if (bit < 0) return {};
    const auto end = std::copy_n(parts, count, split.begin());
    auto hit = split.begin() + 1;
    std::size_t before = static_cast<std::size_t>(bit / 8), sent_before = split.front().iov_len;
    for (; hit != end && before >= hit->iov_len; ++hit) {
        before -= hit->iov_len;
        sent_before += hit->iov_len;
    }
    if (hit == end) {
        flip_at.store(bit);
        return {};
    }
    auto* const bytes = static_cast<unsigned char*>(hit->iov_base);
    unsigned char bent = bytes[before] ^ static_cast<unsigned char>(1u << (bit % 8));
    const iovec whole_part = *hit;
    std::copy_backward(hit + 1, end, end + 2);
    hit[0] = {bytes, before};
    hit[1] = {&bent, 1};
    hit[2] = {bytes + before + 1, whole_part.iov_len - before - 1};
    const ssize_t sent = real(descriptor, split.data(), count + 2);
    const bool left = sent > 0 && static_cast<std::size_t>(sent) > sent_before + before;
    if (!left) flip_at.store(bit);  // it will be asked again
    return sent;
}

template <class Call>
Call next_symbol(const char* name) {
    return reinterpret_cast<Call>(dlsym(RTLD_NEXT, name));
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

ssize_t writev(int descriptor, const iovec* parts, int count) {
    static const auto real = next_symbol<Writev>("writev");
    if (const auto answer = instead_of_sending(descriptor)) return *answer;
    if (const auto sent = with_a_bit_turned(real, descriptor, parts, count)) return *sent;
    return real(descriptor, parts, count);
}

ssize_t send(int descriptor, const void* data, size_t length, int flags) {
    static const auto real = next_symbol<ssize_t (*)(int, const void*, size_t, int)>("send");
    if (const auto answer = instead_of_sending(descriptor)) return *answer;
    return real(descriptor, data, length, flags);
}

ssize_t sendmsg(int descriptor, const msghdr* message, int flags) {
    static const auto real = next_symbol<ssize_t (*)(int, const msghdr*, int)>("sendmsg");
    if (const auto answer = instead_of_sending(descriptor)) return *answer;
    return real(descriptor, message, flags);
}

// By the rank's own hook, at the moment of a fault.
void deadrank_link(int state, std::int64_t nanoseconds_late) {
    late.store(std::max<std::int64_t>(0, nanoseconds_late));
    link_now.store(state == silent || state == cut ? state : whole);
}

// The bit of the content of the next message that has one; -1 takes it back. Answers with the bit that was
// still waiting, so that one never sent is not counted.
std::int64_t deadrank_link_flip(std::int64_t bit) {
    return flip_at.exchange(std::max<std::int64_t>(-1, bit));
}
}
#pragma GCC visibility pop
