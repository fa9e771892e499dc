// sim/managed/rank_process.cpp — The process of one rank: forked from the zygote, ended with its owner.
#include "sim/managed/rank_process.h"

#include <csignal>
#include <nlohmann/json.hpp>
#include <sys/wait.h>
#include <utility>

#include "sim/managed/trouble.h"

namespace deadrank::sim::managed {

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

int RankProcess::end(Zygote& zygote, pid_t pid) {
    const int status = zygote.wait_for(pid);
    ::kill(-pid, SIGKILL);  // its group: what the program has started and left behind
    return status;
}

pid_t RankProcess::leave() {
    channel_->print_rest();
    return std::exchange(pid_, -1);
}

void RankProcess::signal(int number) {
    if (pid_ > 0) ::kill(pid_, number);
}

RankProcess::Copy RankProcess::begin_copy(std::int64_t now) {
    auto [socket, its_socket] = packet_sockets();
    auto [out, its_out] = pipe_pair();
    auto [err, its_err] = pipe_pair();
    Copy copy{std::move(socket), std::move(out), std::move(err), arena_.copy(), -1};
    channel_->request_copy(now, its_socket.get(), its_out.get(), its_err.get(), copy.arena.get());
    return copy;
}

std::string RankProcess::finish_copy(Copy& copy, std::chrono::milliseconds limit) {
    const auto answer = channel_->receive(limit);
    if (!answer || answer->head.kind != Kind::forked) return "it did not answer";
    const auto body = nlohmann::json::parse(answer->body, nullptr, false);
    copy.pid = body.value("pid", -1);
    return body.value("why", "");
}

void RankProcess::use(Copy copy) {
    channel_->use(std::move(copy.socket), std::move(copy.out), std::move(copy.err));
    arena_.use(std::move(copy.arena));
    pid_ = copy.pid;
}

ProcessEnding RankProcess::wait() {
    const int status = end(zygote_, pid_);
    pid_ = -1;
    channel_->print_rest();
    if (WIFSIGNALED(status)) return {.code = -WTERMSIG(status), .signal = WTERMSIG(status)};
    return {.code = WEXITSTATUS(status), .signal = 0};
}

}  // namespace deadrank::sim::managed
