// inject/standin/nccl/communicator.cpp — From the first hello to the last word.
#include "inject/standin/nccl/communicator.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "inject/standin/device/devices.h"
#include "inject/standin/nccl/evidence.h"
#include "inject/standin/nccl/faults.h"
#include "inject/standin/nccl/job.h"
#include "inject/standin/nccl/log.h"

namespace deadrank::standin {

ncclResult_t check_usable(ncclComm_t comm, const char* function) {
    if (!comm) {
        warn("{} : comm argument is NULL", function);
        return ncclInvalidArgument;
    }
    switch (comm->stage) {
        case Stage::opening:
            warn("Attempt to use communicator before the previous operation returned ncclSuccess");
            return ncclInvalidArgument;
        case Stage::destroyed:
        case Stage::aborted:
            warn("comm {} has already been destroyed", static_cast<void*>(comm));
            return ncclInvalidArgument;
        case Stage::failed:
            return comm->trouble;
        case Stage::finalizing:
        case Stage::finalized:
            warn("{} : communicator {} has been finalized", function, static_cast<void*>(comm));
            return ncclInvalidUsage;
        default:
            return ncclSuccess;
    }
}

ncclResult_t read_config(const ncclConfig_t* given, ncclConfig_t& into) {
    constexpr unsigned first_with_a_name = 22700;
    const ncclConfig_t fresh = NCCL_CONFIG_INITIALIZER;
    into = fresh;
    if (!given) return ncclSuccess;
    if (given->magic != fresh.magic || given->size < offsetof(ncclConfig_t, cgaClusterSize)) {
        warn("ncclConfig_t argument not initialized via NCCL_CONFIG_INITIALIZER");
        return ncclInvalidArgument;
    }
    std::memcpy(&into, given, std::min(given->size, sizeof into));
    if (given->version < first_with_a_name) into.commName = fresh.commName;
    return ncclSuccess;
}

ncclComm_t make_communicator(const std::string& address, const std::string& room, int rank, int size,
                             const ncclConfig_t* given, ncclComm_t parent) {
    ncclConfig_t config;
    read_config(given, config);  // whoever calls has refused what is none
    auto* comm = new ncclComm;
    comm->rank = rank;
    comm->size = size;
    comm->address = address;
    comm->room = room;
    comm->device = parent ? parent->device : Devices::of_this_process().current();
    comm->slot = parent ? parent->slot : slot_of_this_process(rank);
    comm->number = Evidence::of_this_process().next_communicator(comm->slot);
    comm->blocking = config.blocking != NCCL_CONFIG_UNDEF_INT ? config.blocking != 0
                     : parent                                 ? parent->blocking
                                                              : true;
    if (config.commName) comm->name = config.commName;
    if (comm->name.empty())
        comm->name = comm->number == 1 ? "world" : fmt::format("group{}", comm->number - 1);
    return comm;
}

ncclResult_t open_communicator(ncclComm_t comm) {
    if (const ncclResult_t code = Faults::of_this_process().around("comm_init", *comm); code != ncclSuccess) {
        comm->trouble = code;
        Stage refused = Stage::opening;
        comm->stage.compare_exchange_strong(refused, Stage::failed);
        return code;
    }
    Hello hello;
    std::strncpy(hello.room, comm->room.c_str(), sizeof hello.room - 1);
    hello.rank = comm->rank;
    hello.size = comm->size;
    hello.device = Devices::of_this_process().physical(comm->device);
    hello.host = host_of_this_process();
    ncclGetVersion(&hello.version);  // by name, as NCCL does: whoever stands in front of it is believed
    Evidence& evidence = Evidence::of_this_process();
    evidence.open(*comm);
    inform("ncclCommInitRank comm {} rank {} nranks {} cudaDev {} - Init START", static_cast<void*>(comm),
           comm->rank, comm->size, comm->device);
    std::string why;
    const auto code = static_cast<ncclResult_t>(comm->member.join(comm->address, hello, why));
    if (!why.empty()) warn("{}", why);
    evidence.opened(*comm, code);
    comm->trouble = code;
    Stage expected = Stage::opening;  // an abort may have come first
    comm->stage.compare_exchange_strong(expected, code == ncclSuccess ? Stage::open : Stage::failed);
    if (code == ncclSuccess) {
        inform("ncclCommInitRank comm {} rank {} nranks {} cudaDev {} - Init COMPLETE",
               static_cast<void*>(comm), comm->rank, comm->size, comm->device);
    }
    return code;
}

// NCCL pushes nothing: a lost peer shows while something waits for it, and only to whoever asks.
ncclResult_t asynchronous_error(ncclComm_t comm) {
    if (comm->stage == Stage::opening || comm->stage == Stage::finalizing) return ncclInProgress;
    if (comm->trouble == ncclSuccess && comm->member.lost_peer() >= 0 && comm->member.pending()) {
        ncclResult_t none = ncclSuccess;
        if (comm->trouble.compare_exchange_strong(none, ncclRemoteError)) {
            warn("socketProgress: Connection closed by remote peer rank {}", comm->member.lost_peer());
            Evidence::of_this_process().trouble(*comm, ncclRemoteError, last_warning());
        }
    }
    return comm->trouble;
}

}  // namespace deadrank::standin
