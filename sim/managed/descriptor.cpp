// sim/managed/descriptor.cpp — Pipes and sockets whose ends are closed with their owners.
#include "sim/managed/descriptor.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>

#include "sim/managed/trouble.h"
#include "sim/managed/wire.h"

namespace deadrank::sim::managed {

namespace {

std::array<Descriptor, 2> made(int code, const int (&ends)[2]) {
    if (code != 0)
        throw HostTrouble(fmt::format("no pipes or sockets for a rank: {}", std::strerror(errno)),
                          "raise the limit on open files (`ulimit -n`), or play fewer ranks");
    return {Descriptor(ends[0]), Descriptor(ends[1])};
}

}  // namespace

std::array<Descriptor, 2> pipe_pair() {
    int ends[2];
    const int code = ::pipe2(ends, O_CLOEXEC);
    return made(code, ends);
}

std::array<Descriptor, 2> packet_sockets() {
    int ends[2];
    const int code = ::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends);
    std::array<Descriptor, 2> pair = made(code, ends);
    const int bytes = static_cast<int>(message_max);
    for (const Descriptor& end : pair) {
        ::setsockopt(end.get(), SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
        ::setsockopt(end.get(), SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    }
    return pair;
}

bool send_with(int socket, std::string_view text, std::initializer_list<int> descriptors) {
    const std::size_t bytes = descriptors.size() * sizeof(int);
    iovec piece{const_cast<char*>(text.data()), text.size()};
    alignas(cmsghdr) char control[CMSG_SPACE(4 * sizeof(int))] = {};
    msghdr message{};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(bytes);
    cmsghdr* head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(bytes);
    std::memcpy(CMSG_DATA(head), std::data(descriptors), bytes);
    ssize_t sent = 0;
    while ((sent = ::sendmsg(socket, &message, MSG_NOSIGNAL)) < 0 && errno == EINTR) {
    }
    return sent >= 0;
}

}  // namespace deadrank::sim::managed
