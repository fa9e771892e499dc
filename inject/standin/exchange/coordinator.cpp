// inject/standin/exchange/coordinator.cpp — Frames in, frames out. Nothing here waits for a single rank.
#include "inject/standin/exchange/coordinator.h"

#include <cerrno>
#include <cstring>
#include <poll.h>
#include <sys/socket.h>
#include <vector>

namespace deadrank::inject::standin {

namespace {

template <class Said>
bool read_as(std::string_view& content, Said& said) {
    if (content.size() < sizeof said) return false;
    std::memcpy(&said, content.data(), sizeof said);
    content.remove_prefix(sizeof said);
    return true;
}

}  // namespace

void Coordinator::serve() {
    bool anybody = false;
    while (!anybody || !lines_.empty()) {
        std::vector<pollfd> watched{{listener_.handle(), POLLIN, 0}};
        for (const auto& [handle, line] : lines_) {
            const bool more = line->sent < line->out.size();
            watched.push_back({handle, static_cast<short>(POLLIN | (more ? POLLOUT : 0)), 0});
        }
        if (::poll(watched.data(), watched.size(), -1) < 0 && errno != EINTR) return;
        for (const pollfd& one : watched) {
            if (one.revents == 0) continue;
            if (one.fd == listener_.handle()) {
                accept();
                anybody = true;
                continue;
            }
            Line& line = *lines_.at(one.fd);
            if (one.revents & POLLOUT) flush(line);
            if (one.revents & (POLLIN | POLLHUP | POLLERR)) receive(line);
        }
        close_broken();
    }
}

void Coordinator::accept() {
    Socket socket(::accept4(listener_.handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket) return;
    auto line = std::make_unique<Line>();
    const int handle = socket.handle();
    line->socket = std::move(socket);
    lines_[handle] = std::move(line);
}

void Coordinator::receive(Line& line) {
    const ssize_t got = ::recv(line.socket.handle(), chunk_.data(), chunk_.size(), 0);
    if (got > 0) line.in.append(chunk_.data(), static_cast<std::size_t>(got));
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) line.broken = true;
    std::string_view rest = line.in;
    Head head;
    while (rest.size() >= sizeof head) {
        std::memcpy(&head, rest.data(), sizeof head);
        if (rest.size() - sizeof head < head.size) break;
        take(line, head.kind,
             std::string_view(line.in).substr(line.in.size() - rest.size() + sizeof head, head.size));
        rest.remove_prefix(sizeof head + head.size);
    }
    line.in.erase(0, line.in.size() - rest.size());
}

void Coordinator::take(Line& line, Kind kind, std::string_view content) {
    if (kind == Kind::hello) {
        Hello hello;
        if (read_as(content, hello)) enter(line, hello);
    } else if (kind == Kind::call && line.communicator) {
        Call call;
        if (read_as(content, call)) line.communicator->call(line.member, call, std::string(content));
    } else if (kind == Kind::leave && line.communicator) {
        line.communicator->leave(line.member, true);
    }
}

void Coordinator::enter(Line& line, const Hello& hello) {
    const std::string name(hello.communicator, strnlen(hello.communicator, sizeof hello.communicator));
    auto& communicator = communicators_[name];
    if (!communicator) {
        const auto send_to_member = [this, name](int member, Kind kind, const std::string& said,
                                                 const std::string& bytes) {
            const auto seat = seats_.find({name, member});
            if (seat == seats_.end()) return;
            const Head head{kind, 0, said.size() + bytes.size()};
            Line& to = *seat->second;
            to.out.append(reinterpret_cast<const char*>(&head), sizeof head).append(said).append(bytes);
            flush(to);
        };
        communicator = std::make_unique<ServedCommunicator>(name, hello.size, seed_, send_to_member);
    }
    const std::pair<std::string, int> seat{name, hello.rank};
    if (seats_.contains(seat)) return;
    seats_[seat] = &line;
    line.communicator = communicator.get();
    line.member = hello.rank;
    if (communicator->enter(hello)) return;
    seats_.erase(seat);
    line.communicator = nullptr;
}

void Coordinator::flush(Line& line) {
    while (line.sent < line.out.size()) {
        const ssize_t wrote = ::send(line.socket.handle(), line.out.data() + line.sent,
                                     line.out.size() - line.sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote < 0) break;
        line.sent += static_cast<std::size_t>(wrote);
    }
    if (line.sent < line.out.size()) return;
    line.out.clear();
    line.sent = 0;
}

void Coordinator::close_broken() {
    std::vector<int> broken;
    for (const auto& [handle, line] : lines_) {
        if (line->broken) broken.push_back(handle);
    }
    for (const int handle : broken) {
        const auto line = std::move(lines_[handle]);
        lines_.erase(handle);
        if (!line->communicator) continue;
        std::erase_if(seats_, [&](const auto& seat) { return seat.second == line.get(); });
        line->communicator->leave(line->member, false);
    }
}

}  // namespace deadrank::inject::standin
