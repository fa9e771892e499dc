// inject/shims/profiler/watcher.h — NCCL's own events become evidence: a collective begins when it is
// enqueued, and is over when the kernel of each of its channels is. Faults act where the program calls: they
// can delay, or act on the whole process; NCCL ignores the codes that a profiler returns.
#pragma once

#include <mutex>
#include <string>

#include "inject/shims/core/session.h"
#include "inject/shims/profiler/profiler_abi.h"

namespace deadrank::inject::shims {

class WatchedComm;

// One collective or message under way, or one of its kernels.
struct WatchedEvent {
    WatchedComm* comm = nullptr;
    WatchedEvent* parent = nullptr;  // of a kernel
    bool message = false;
    std::int64_t number = 0;
    results::Op op = results::Op::none;
    int peer = -1;
    int channels = 0, finished = 0;  // kernels
    bool enqueued = false;           // NCCL said that it will add nothing more
};

class WatchedComm {
public:
    WatchedComm(RankSession& rank, results::CommId number, std::string name, int ranks, int rank_in_comm);

    void called(const char* function);  // the program is at this call
    WatchedEvent* start(const Coll& coll);
    WatchedEvent* start(const P2p& p2p);
    static WatchedEvent* start_kernel(WatchedEvent* parent);
    static void stop(WatchedEvent* event);

private:
    void alive();
    void land_if_over(WatchedEvent* event);

    RankSession& rank_;
    const results::CommId number_;
    const std::string name_;
    std::mutex guard_;
    std::int64_t collectives_ = 0, messages_ = 0;
    bool made_ = false;
};

// The mask of events that are wanted; 0 when there is nothing to do, or when the interposer is loaded, too:
// it sees the same calls and does more.
std::uint64_t wanted_events();

WatchedComm* watch_comm(const char* name, int ranks, int rank);

}  // namespace deadrank::inject::shims
