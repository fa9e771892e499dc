// inject/standin/exchange/member.cpp — One rank's connection to the coordinator.
#include "inject/standin/exchange/member.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace deadrank::inject::standin {

// ── Every call is tried again when a signal interrupted it.

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

// ── One thread reads; the answer to a call goes straight into its buffer.

namespace {

template <class Said>
std::string_view view_of(const Said& said) {
    return {reinterpret_cast<const char*>(&said), sizeof said};
}

}  // namespace

Member::~Member() {
    socket_.shut();
    if (reader_.joinable()) reader_.join();
}

results::Code Member::join(const std::string& address, const Hello& hello, std::string& why) {
    {
        const std::lock_guard lock(mutex_);
        if (aborted_) return results::Code::internal_error;
        socket_ = connect_to(address);
    }
    if (!socket_) {
        why = "the job that this unique id belongs to is over, or on another machine";
        return results::Code::system_error;
    }
    send_message(Kind::hello, view_of(hello));
    Head head;
    Joined joined;
    do {
        if (!socket_.read(&head, sizeof head)) return results::Code::remote_error;
        if (head.kind != Kind::joined) {  // a member left before all had joined: not our concern yet
            std::string ignored(head.size, '\0');
            if (!socket_.read(ignored.data(), ignored.size())) return results::Code::remote_error;
        }
    } while (head.kind != Kind::joined);
    if (!socket_.read(&joined, sizeof joined)) return results::Code::remote_error;
    why.resize(head.size - sizeof joined);
    if (!socket_.read(why.data(), why.size())) return results::Code::remote_error;
    reader_ = std::thread([this] { listen(); });
    return static_cast<results::Code>(joined.code);
}

void Member::send_message(Kind kind, std::string_view said, std::string_view bytes) {
    const Head head{kind, 0, said.size() + bytes.size()};
    const std::lock_guard lock(writing_);
    (void)(socket_.write(view_of(head)) && socket_.write(said) && socket_.write(bytes));
}

std::uint64_t Member::submit(Call call, std::string_view bytes, std::span<char> into) {
    {
        const std::lock_guard lock(mutex_);
        call.number = ++last_;
        waiting_[call.number] = {into};
    }
    if (!aborted_) send_message(Kind::call, view_of(call), bytes);
    return call.number;
}

bool Member::await(std::uint64_t number) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return aborted_ || waiting_.at(number).done; });
    const bool done = waiting_.at(number).done;
    waiting_.erase(number);
    return done;
}

void Member::abort() {
    const std::lock_guard lock(mutex_);
    aborted_ = true;
    socket_.shut();
    changed_.notify_all();
}

void Member::leave() {
    send_message(Kind::leave, {});
    socket_.shut();
}

bool Member::pending() const {
    const std::lock_guard lock(mutex_);
    return std::any_of(waiting_.begin(), waiting_.end(), [](const auto& one) { return !one.second.done; });
}

void Member::listen() {
    Head head;
    while (socket_.read(&head, sizeof head)) {
        if (head.kind == Kind::done) {
            if (!receive_result(head.size)) return;
        } else {
            Gone gone;
            if (head.size != sizeof gone || !socket_.read(&gone, sizeof gone)) return;
            if (gone.noticed) lost_peer_ = gone.rank;
        }
    }
}

bool Member::receive_result(std::size_t size) {
    Done done;
    if (size < sizeof done || !socket_.read(&done, sizeof done)) return false;
    std::vector<char> bytes(size - sizeof done);
    if (!socket_.read(bytes.data(), bytes.size())) return false;
    const std::lock_guard lock(mutex_);
    const auto found = waiting_.find(done.number);
    if (aborted_ || found == waiting_.end()) return true;
    Waiting& waiting = found->second;
    std::copy_n(bytes.begin(), std::min(bytes.size(), waiting.into.size()), waiting.into.begin());
    waiting.done = true;
    changed_.notify_all();
    return true;
}

}  // namespace deadrank::inject::standin
