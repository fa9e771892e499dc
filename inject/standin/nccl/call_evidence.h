// inject/standin/nccl/call_evidence.h — What the drop-in tells of each call.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "inject/standin/exchange/exchange_wire.h"
#include "inject/standin/nccl/standin_communicator.h"

namespace deadrank::standin {

// Its rank in the whole job by what the launcher says, or by this rank of its first communicator.
int slot_of_this_process(int otherwise);
// True when another part of deadrank watches this process at a higher place and has the plan: a hook inside
// Python, or somebody who stands in front of our functions.
bool watched_from_above();

class Evidence {
public:
    static Evidence& of_this_process();

    int next_communicator(int slot);
    void open(const ncclComm& comm);
    void opened(const ncclComm& comm, ncclResult_t code);
    void enter(const ncclComm& comm, const Call& call);
    void leave(const ncclComm& comm, const Call& call, ncclResult_t code);
    void trouble(const ncclComm& comm, ncclResult_t code, const std::string& says);
    // What a fault did or could not do: told to the judge alone.
    void fault(int slot, const char* kind, int fault, const std::string& call, const std::string& says);

private:
    Evidence();
    void write(const std::string& directory, int slot, const std::string& kind, const std::string& fields);

    std::string directory_, truth_;
    std::mutex mutex_;
    std::map<std::string, int> files_;
    std::map<int, int> communicators_;
};

}  // namespace deadrank::standin
