// inject/shims/nccl/nccl_call.h — One NCCL call with its arguments, and the communicators that are open.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "inject/core/levers.h"
#include "inject/shims/core/session.h"
#include "inject/shims/nccl/nccl_abi.h"
#include "inject/shims/nccl/nccl_below.h"

namespace deadrank::inject::shims {

// One collective or message in one form, so that a fault can change any part of it.
struct Collective {
    Function which = Function::count;
    const void* send = nullptr;
    void* receive = nullptr;
    std::size_t count = 0;  // as the function counts: of a shard where it is one
    int dtype = 0;          // ncclDataType_t
    int reduce = 0;         // ncclRedOp_t
    int root = -1;          // or the peer of a message; -1 = none
    CommHandle comm = nullptr;
    Stream stream = nullptr;
};

results::Op op_of(Function which);
bool is_message(Function which);

// Calls the real library.
int issue(const Collective& call);

// The call as a fault leaves it. Where it needs more memory than the program gave, it works on scratch
// memory, which `afterwards` copies back once the call was launched.
struct Altered {
    Collective call;
    std::vector<std::function<void()>> afterwards;
    std::string refused;  // why it cannot be altered so; the call is then as it was
};
Altered alter(const Collective& call, const Alteration& alteration, const Device& device);

// The communicators of this process: numbered in the order in which they were made, which is the same on all
// members of a correct program; named by the program, else world, group1, group2, …
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

    // A handle from a call that we did not see is added here.
    Communicator& of(CommHandle handle);
    void forget(CommHandle handle);

private:
    Communicator& next(Rank rank, std::string name);

    Session& session_;
    std::mutex guard_;
    std::deque<Communicator> all_;  // addresses stay valid
    std::map<CommHandle, Communicator*> known_;
    std::map<Rank, std::uint32_t> count_;
};

}  // namespace deadrank::inject::shims
