// runners/backends/local/taken_port.cpp — A bound socket of all interfaces, closed at the end.
#include "runners/backends/local/taken_port.h"

#include <arpa/inet.h>
#include <cstdint>
#include <sys/socket.h>
#include <unistd.h>

namespace deadrank::runners {

namespace {

sockaddr_in address_of(in_addr_t host, int port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(host);
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    return address;
}

int tcp_socket() { return socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0); }

}  // namespace

TakenPort::TakenPort(int port, bool mute) : descriptor_(tcp_socket()) {
    const sockaddr_in address = address_of(INADDR_ANY, port);
    taken_ = bind(descriptor_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
    if (mute) taken_ = taken_ && listen(descriptor_, 64) == 0;
}

TakenPort::~TakenPort() { close(descriptor_); }

int TakenPort::any_free() {
    const int descriptor = tcp_socket();
    sockaddr_in address = address_of(INADDR_LOOPBACK, 0);
    socklen_t length = sizeof(address);
    const bool bound = bind(descriptor, reinterpret_cast<sockaddr*>(&address), length) == 0 &&
                       getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &length) == 0;
    close(descriptor);
    return bound ? ntohs(address.sin_port) : 0;
}

}  // namespace deadrank::runners
