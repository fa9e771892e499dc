// runners/backend/copies.cpp — Copies of this process, and the pipes over which they answer.
#include "runners/backend/copies.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace deadrank::runners {

namespace {

constexpr int look_again_ms = 200;  // whether it was stopped

}  // namespace

Copies::~Copies() {
    for (const auto& [pid, copy] : copies_) {
        ::kill(pid, SIGKILL);
        ::close(copy.from);
        while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
        }
    }
}

pid_t Copies::fork(std::size_t index) {
    while (copies_.size() >= static_cast<std::size_t>(at_once_)) read_some();
    int ends[2];
    if (stopped() || ::pipe2(ends, O_CLOEXEC) != 0) return -1;
    const pid_t parent = ::getpid();
    const pid_t pid = ::fork();
    if (pid == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (::getppid() != parent) ::_exit(1);
        for (const auto& [other, copy] : copies_) ::close(copy.from);
        copies_.clear();
        ::close(ends[0]);
        to_ = ends[1];
        return 0;
    }
    ::close(ends[1]);
    if (pid < 0) {
        ::close(ends[0]);
    } else {
        copies_[pid] = {index, ends[0], {}};
    }
    return pid;
}

void Copies::wait() {
    while (!copies_.empty()) read_some();
}

void Copies::answer(std::string_view text) const {
    while (!text.empty()) {
        const ssize_t size = ::write(to_, text.data(), text.size());
        if (size < 0 && errno != EINTR) break;
        if (size > 0) text.remove_prefix(static_cast<std::size_t>(size));
    }
    ::_exit(0);
}

void Copies::read_some() {
    std::vector<pollfd> ready;
    std::vector<pid_t> pids;
    for (const auto& [pid, copy] : copies_) {
        if (stopped()) ::kill(pid, SIGTERM);
        pids.push_back(pid);
        ready.push_back({copy.from, POLLIN, 0});
    }
    if (::poll(ready.data(), ready.size(), look_again_ms) <= 0) return;
    for (std::size_t i = 0; i < ready.size(); ++i) {
        if (ready[i].revents == 0) continue;
        Copy& copy = copies_[pids[i]];
        char bytes[4096];
        const ssize_t size = ::read(copy.from, bytes, sizeof bytes);
        if (size > 0) copy.text.append(bytes, static_cast<std::size_t>(size));
        if (size > 0 || (size < 0 && errno == EINTR)) continue;
        ::close(copy.from);
        while (::waitpid(pids[i], nullptr, 0) < 0 && errno == EINTR) {
        }
        const Copy ended = std::move(copies_.extract(pids[i]).mapped());
        answered_(ended.index, ended.text);
    }
}

}  // namespace deadrank::runners
