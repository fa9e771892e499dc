// inject/standin/nccl/standin_communicator.h — A communicator of the drop-in, from its making to its end.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <nccl.h>
#include <string>
#include <utility>
#include <vector>

#include "inject/standin/exchange/member.h"

namespace deadrank::inject::standin {

// A sum whose inputs are multiplied first, by a number of this rank's own.
struct ScaledSum {
    ncclDataType_t type = ncclNumTypes;
    std::uint64_t scale = 0;
    const void* at = nullptr;  // on a device: read when the collective runs
    bool destroyed = false;
};

enum class Stage { opening, open, failed, finalizing, finalized, aborted, destroyed };

}  // namespace deadrank::inject::standin

struct ncclComm {
    int rank = 0, size = 1, device = 0;
    int slot = 0;    // of the rank in its job, for plan and evidence
    int number = 1;  // among the communicators of this rank
    bool blocking = true;
    std::string address, communicator, name;

    deadrank::inject::standin::Member member;
    std::atomic<deadrank::inject::standin::Stage> stage = deadrank::inject::standin::Stage::opening;
    std::atomic<ncclResult_t> trouble = ncclSuccess;  // what ncclCommGetAsyncError tells
    std::atomic<int> outstanding = 0;                 // pieces of work in streams
    std::mutex reading;                               // held while buffers of the program are read

    std::uint64_t collectives = 0;                           // enqueued so far
    std::map<std::pair<bool, int>, std::uint64_t> messages;  // sent (or received), by peer
    std::vector<deadrank::inject::standin::ScaledSum> scaled_sums;
};

namespace deadrank::inject::standin {

// Refuses with NCCL's words: null, destroyed, not ready yet.
ncclResult_t check_usable(ncclComm_t comm, const char* function);

// What a program asks for, which may have been compiled for an older or a newer release than ours. Refuses
// one that was never initialized.
ncclResult_t read_config(const ncclConfig_t* given, ncclConfig_t& into);

ncclComm_t make_communicator(const std::string& address, const std::string& communicator, int rank, int size,
                             const ncclConfig_t* config, ncclComm_t parent);
// Waits for the other members. Called where waiting is allowed.
ncclResult_t open_communicator(ncclComm_t comm);

// Runs now, at the end of the group, or beside the program when the communicator does not block.
ncclResult_t run_or_defer(ncclComm_t comm, std::function<ncclResult_t()> job);

ncclResult_t asynchronous_error(ncclComm_t comm);

}  // namespace deadrank::inject::standin
