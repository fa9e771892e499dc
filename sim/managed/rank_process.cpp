// sim/managed/rank_process.cpp — The process of one rank: forked from the zygote, ended with its owner.
#include "sim/managed/rank_process.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "sim/managed/trouble.h"

namespace deadrank::sim::managed {

namespace {

std::array<Descriptor, 2> made(int code, const int (&ends)[2]) {
    if (code != 0)
        throw HostTrouble(fmt::format("no pipes or sockets for a rank: {}", std::strerror(errno)),
                          "raise the limit on open files (`ulimit -n`), or play fewer ranks");
    return {Descriptor(ends[0]), Descriptor(ends[1])};
}

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

}  // namespace

RankProcess::RankProcess(Zygote& zygote, RankSpec spec, Channel::Print print) : zygote_(zygote) {
    auto [socket, its_socket] = packet_sockets();
    auto [out, its_out] = pipe_pair();
    auto [err, its_err] = pipe_pair();
    spec.channel = its_socket.get();
    spec.out = its_out.get();
    spec.err = its_err.get();
    spec.arena = arena_.descriptor();
    channel_.emplace(std::move(socket), std::move(out), std::move(err), std::move(print));
    pid_ = zygote.spawn(spec);
}

RankProcess::~RankProcess() { kill(); }

void RankProcess::kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    try {
        wait();
    } catch (const HostTrouble&) {  // the zygote is gone, and its children with it
    }
}

ProcessEnding RankProcess::wait() {
    const int status = zygote_.wait_for(pid_);
    ::kill(-pid_, SIGKILL);  // its group: what the program has started and left behind
    pid_ = -1;
    channel_->print_rest();
    if (WIFSIGNALED(status)) return {.code = -WTERMSIG(status), .signal = WTERMSIG(status)};
    return {.code = WEXITSTATUS(status), .signal = 0};
}

}  // namespace deadrank::sim::managed
