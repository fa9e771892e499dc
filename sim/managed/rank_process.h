// sim/managed/rank_process.h — The process of one rank: forked from the zygote, ended with its owner.
#pragma once

#include <functional>
#include <optional>
#include <sys/types.h>

#include "sim/managed/arena.h"
#include "sim/managed/channel.h"
#include "sim/managed/zygote.h"

namespace deadrank::sim::managed {

// How a process ended: by a signal, or with a code.
struct ProcessEnding {
    int code = 0;
    int signal = 0;
};

class RankProcess {
public:
    // Throws HostTrouble. `spec` needs no descriptors.
    RankProcess(Zygote& zygote, RankSpec spec, Channel::Print print);
    ~RankProcess();  // SIGKILL, if it has not ended
    RankProcess(const RankProcess&) = delete;
    RankProcess& operator=(const RankProcess&) = delete;

    Channel& channel() { return *channel_; }
    const Arena& arena() const { return arena_; }
    ProcessEnding wait();  // after the channel was closed by the process
    void kill();
    // Once it has said how it ends: the owner of its pid is to end() it. Prints what is left.
    pid_t leave();
    // Waits for a process that was left, and ends all that it has started. Its status as waitpid() gives it.
    static int end(Zygote& zygote, pid_t pid);
    void signal(int number);

private:
    Zygote& zygote_;
    Arena arena_;
    std::optional<Channel> channel_;
    pid_t pid_ = -1;
};

}  // namespace deadrank::sim::managed
