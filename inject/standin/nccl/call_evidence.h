// inject/standin/nccl/call_evidence.h — One process of the drop-in: the plan, the evidence and the truth of
// each of its ranks, kept as every library that real programs load keeps them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "inject/shims/core/session.h"
#include "inject/standin/exchange/exchange_wire.h"
#include "inject/standin/nccl/standin_communicator.h"

namespace deadrank::inject::standin {

// Its rank in the whole job by what the launcher says, or by this rank of its first communicator.
int slot_of_this_process(int otherwise);

// Plan and evidence stay empty where another part of deadrank watches this process at a higher level: a hook
// inside Python, or a library in front of our functions.
class Watch {
public:
    static Watch& of_this_process();

    inject::shims::RankSession& rank(int slot);
    int next_communicator(int slot);

    void open(const ncclComm& comm);
    void opened(const ncclComm& comm, ncclResult_t code);
    void enter(const ncclComm& comm, const Call& call);
    void leave(const ncclComm& comm, const Call& call, ncclResult_t code);
    void trouble(const ncclComm& comm, ncclResult_t code, const std::string& says);

private:
    Watch();

    std::string directory_;
    std::int64_t started_ = 0;
    inject::shims::ShimPlan plan_;
    // Faults that this library cannot play, and why.
    std::vector<std::pair<inject::shims::Entry, std::string>> refused_;
    std::mutex mutex_;
    std::map<int, std::unique_ptr<inject::shims::RankSession>> ranks_;
    std::map<int, int> communicators_;
};

}  // namespace deadrank::inject::standin
