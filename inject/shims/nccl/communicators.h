// inject/shims/nccl/communicators.h — The communicators of this process: numbered in the order in which they
// were made, which is the same on all members of a correct program; named by the program, else world, group1,
// group2, …
#pragma once

#include <deque>
#include <map>
#include <mutex>
#include <string>

#include "inject/shims/core/session.h"
#include "inject/shims/nccl/abi.h"

namespace deadrank::inject::shims {

struct Communicator {
    RankSession* rank = nullptr;
    results::CommId number = 0;
    std::string name;
    std::int64_t collectives = 0, messages = 0;  // calls so far
    int last_error = 0;                          // what ncclCommGetAsyncError said last
};

class Communicators {
public:
    explicit Communicators(Session& session) : session_(session) {}

    // One that is about to be made; `rank` is the caller's in it. Stays ours until it has a handle.
    Communicator& begin(Rank rank, const Config* config);
    void made(Communicator& one, CommHandle handle);

    // A handle that nobody announced, from a call that we did not see, is met here for the first time.
    Communicator& of(CommHandle handle);
    void forget(CommHandle handle);

private:
    Communicator& next(Rank rank, std::string name);

    Session& session_;
    std::mutex guard_;
    std::deque<Communicator> all_;  // places stay
    std::map<CommHandle, Communicator*> known_;
    std::map<Rank, std::uint32_t> count_;
};

}  // namespace deadrank::inject::shims
