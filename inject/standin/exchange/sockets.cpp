// inject/standin/exchange/sockets.cpp — Every call is tried again when a signal interrupted it.
#include "inject/standin/exchange/sockets.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <utility>

namespace deadrank::standin {

namespace {

std::pair<sockaddr_un, socklen_t> named(const std::string& address) {
    sockaddr_un name{};
    name.sun_family = AF_UNIX;  // sun_path begins with a zero: the abstract namespace
    const std::size_t length = std::min(address.size(), sizeof name.sun_path - 1);
    std::memcpy(name.sun_path + 1, address.data(), length);
    return {name, static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length)};
}

}  // namespace

Socket& Socket::operator=(Socket&& other) noexcept {
    if (this != &other) {
        if (handle_ >= 0) ::close(handle_);
        handle_ = other.release();
    }
    return *this;
}

Socket::~Socket() {
    if (handle_ >= 0) ::close(handle_);
}

int Socket::release() { return std::exchange(handle_, -1); }

void Socket::shut() {
    if (handle_ >= 0) ::shutdown(handle_, SHUT_RDWR);
}

bool Socket::write(std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t sent = ::send(handle_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) return false;
        bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
}

bool Socket::read(void* into, std::size_t size) {
    char* place = static_cast<char*>(into);
    while (size > 0) {
        const ssize_t got = ::recv(handle_, place, size, 0);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        place += got;
        size -= static_cast<std::size_t>(got);
    }
    return true;
}

Socket listen_at(const std::string& address) {
    Socket socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const auto [name, size] = named(address);
    const auto* at = reinterpret_cast<const sockaddr*>(&name);
    if (!socket || ::bind(socket.handle(), at, size) != 0 || ::listen(socket.handle(), 4096) != 0)
        return Socket();
    return socket;
}

Socket connect_to(const std::string& address) {
    Socket socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const auto [name, size] = named(address);
    if (!socket || ::connect(socket.handle(), reinterpret_cast<const sockaddr*>(&name), size) != 0)
        return Socket();
    return socket;
}

}  // namespace deadrank::standin
