// sim/managed/rank_process.h — The process of one rank: forked from the zygote, ended with its owner.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
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
    pid_t pid() const { return pid_; }
    ProcessEnding wait();  // after the channel was closed by the process
    void kill();
    // Once it has said how it ends: the owner of its pid is to end() it. Prints what is left.
    pid_t leave();
    // Waits for a process that was left, and ends all that it has started. Its status as waitpid() gives it.
    static int end(Zygote& zygote, pid_t pid);
    void signal(int number);

    // What a copy of the process has in place of these.
    struct Copy {
        Descriptor socket, out, err, arena;  // our ends, and its memory
        pid_t pid = -1;
    };
    // Asks the process, which waits for a reply, for a copy of itself; it has answered when finish_copy()
    // returns: with why there is none, or with nothing. Both throw HostTrouble.
    Copy begin_copy(std::int64_t now);
    std::string finish_copy(Copy& copy, std::chrono::milliseconds limit);
    // In a copy of this process: the rank is the copy of the rank.
    void use(Copy copy);

private:
    Zygote& zygote_;
    Arena arena_;
    std::optional<Channel> channel_;
    pid_t pid_ = -1;
};

}  // namespace deadrank::sim::managed
