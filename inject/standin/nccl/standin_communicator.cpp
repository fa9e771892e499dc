// inject/standin/nccl/standin_communicator.cpp — A communicator of the drop-in, from its making to its end.
#include "inject/standin/nccl/standin_communicator.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <thread>

#include "inject/standin/device/standin_memory.h"
#include "inject/standin/nccl/call_evidence.h"
#include "inject/standin/nccl/standin_faults.h"
#include "inject/standin/nccl/standin_job.h"

namespace deadrank::inject::standin {

// ── Making a communicator: checks, configuration, and the first message to the coordinator.

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

ncclComm_t make_communicator(const std::string& address, const std::string& communicator, int rank, int size,
                             const ncclConfig_t* given, ncclComm_t parent) {
    ncclConfig_t config;
    read_config(given, config);  // the caller has refused an invalid one
    auto* comm = new ncclComm;
    comm->rank = rank;
    comm->size = size;
    comm->address = address;
    comm->communicator = communicator;
    comm->device = parent ? parent->device : Devices::of_this_process().current();
    comm->slot = parent ? parent->slot : slot_of_this_process(rank);
    comm->number = Watch::of_this_process().next_communicator(comm->slot);
    comm->blocking = config.blocking != NCCL_CONFIG_UNDEF_INT ? config.blocking != 0
                     : parent                                 ? parent->blocking
                                                              : true;
    if (config.commName) comm->name = config.commName;
    if (comm->name.empty())
        comm->name = comm->number == 1 ? "world" : fmt::format("group{}", comm->number - 1);
    return comm;
}

ncclResult_t open_communicator(ncclComm_t comm) {
    if (const ncclResult_t code = apply_fault_without_data("comm_init", *comm); code != ncclSuccess) {
        comm->trouble = code;
        Stage refused = Stage::opening;
        comm->stage.compare_exchange_strong(refused, Stage::failed);
        return code;
    }
    Hello hello;
    std::strncpy(hello.communicator, comm->communicator.c_str(), sizeof hello.communicator - 1);
    hello.rank = comm->rank;
    hello.size = comm->size;
    hello.device = Devices::of_this_process().physical(comm->device);
    hello.host = host_of_this_process();
    ncclGetVersion(&hello.version);  // by name, as NCCL does: an interposer's answer counts
    Watch& evidence = Watch::of_this_process();
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

// NCCL reports nothing by itself: a lost peer shows while something waits for it, and only when polled.
ncclResult_t asynchronous_error(ncclComm_t comm) {
    if (comm->stage == Stage::opening || comm->stage == Stage::finalizing) return ncclInProgress;
    if (comm->trouble == ncclSuccess && comm->member.lost_peer() >= 0 && comm->member.pending()) {
        ncclResult_t none = ncclSuccess;
        if (comm->trouble.compare_exchange_strong(none, ncclRemoteError)) {
            warn("socketProgress: Connection closed by remote peer rank {}", comm->member.lost_peer());
            Watch::of_this_process().trouble(*comm, ncclRemoteError, last_warning());
        }
    }
    return comm->trouble;
}

}  // namespace deadrank::inject::standin

// Communicators are asked, finalized, destroyed and aborted.
using namespace deadrank::inject::standin;

namespace {

// Work that never completes is waited for forever, unless somebody aborts: NCCL has no time-out either.
ncclResult_t finalize(ncclComm_t comm) {
    while (comm->outstanding > 0 && !comm->member.aborted())
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    comm->member.leave();
    Stage expected = Stage::finalizing;
    comm->stage.compare_exchange_strong(expected, Stage::finalized);
    return ncclSuccess;
}

ncclResult_t check_alive(ncclComm_t comm, const char* function) {
    if (!comm) {
        warn("{} : comm argument is NULL", function);
        return ncclInvalidArgument;
    }
    if (comm->stage == Stage::destroyed || comm->stage == Stage::aborted) {
        warn("comm {} has already been destroyed", static_cast<void*>(comm));
        return ncclInvalidArgument;
    }
    return ncclSuccess;
}

ncclResult_t return_value(const ncclComm* comm, int* into, int value, const char* function) {
    if (!comm || !into) {
        warn("{} : argument is NULL", function);
        return ncclInvalidArgument;
    }
    *into = value;
    return ncclSuccess;
}

}  // namespace

extern "C" {

ncclResult_t pncclCommFinalize(ncclComm_t comm) {
    if (const ncclResult_t bad = check_usable(comm, "CommFinalize"); bad != ncclSuccess) return bad;
    if (const ncclResult_t bad = apply_fault_without_data("comm_finalize", *comm); bad != ncclSuccess)
        return bad;
    comm->stage = Stage::finalizing;
    return run_or_defer(comm, [comm] { return finalize(comm); });
}

ncclResult_t pncclCommDestroy(ncclComm_t comm) {
    if (!comm) return ncclSuccess;
    if (const ncclResult_t bad = check_alive(comm, "CommDestroy"); bad != ncclSuccess) return bad;
    if (const ncclResult_t bad = apply_fault_without_data("comm_destroy", *comm); bad != ncclSuccess)
        return bad;
    if (comm->stage == Stage::open) {
        comm->stage = Stage::finalizing;
        finalize(comm);
    }
    while (comm->stage == Stage::finalizing) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    comm->stage = Stage::destroyed;
    return ncclSuccess;
}

ncclResult_t pncclCommAbort(ncclComm_t comm) {
    if (!comm) return ncclSuccess;
    if (const ncclResult_t bad = check_alive(comm, "CommAbort"); bad != ncclSuccess) return bad;
    if (const ncclResult_t bad = apply_fault_without_data("comm_abort", *comm); bad != ncclSuccess)
        return bad;
    comm->stage = Stage::aborted;
    comm->member.abort();
    const std::lock_guard nobody_reads(comm->reading);
    return ncclSuccess;
}

ncclResult_t pncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* code) {
    if (!comm || !code) {
        warn("CommGetAsyncError : argument is NULL");
        return ncclInvalidArgument;
    }
    if (const ncclResult_t bad = apply_fault_without_data("comm_get_async_error", *comm); bad != ncclSuccess)
        return bad;
    *code = asynchronous_error(comm);
    return ncclSuccess;
}

ncclResult_t pncclCommCount(const ncclComm_t comm, int* count) {
    return return_value(comm, count, comm ? comm->size : 0, "CommCount");
}
ncclResult_t pncclCommCuDevice(const ncclComm_t comm, int* device) {
    return return_value(comm, device, comm ? comm->device : 0, "CommCuDevice");
}
ncclResult_t pncclCommUserRank(const ncclComm_t comm, int* rank) {
    return return_value(comm, rank, comm ? comm->rank : 0, "CommUserRank");
}
}

namespace deadrank::inject::standin {

// ── Who of a communicator can reach whom, by the sizes of its teams: no rank loads from another one's
// memory here, so each is alone in its own, and a rail holds them all.

// As nccl_device.h lays it out; that header needs nvcc.
struct Team {
    int size, rank, stride;
};

}  // namespace deadrank::inject::standin

using deadrank::inject::standin::Team;

extern "C" {

Team pncclTeamWorld(ncclComm_t comm) { return {comm->size, comm->rank, 1}; }
Team pncclTeamRail(ncclComm_t comm) { return {comm->size, comm->rank, 1}; }
Team pncclTeamLsa(ncclComm_t) { return {1, 0, 1}; }

int pncclTeamRankToWorld(ncclComm_t comm, Team team, int rank) {
    return comm->rank + (rank - team.rank) * team.stride;
}
int pncclTeamRankToLsa(ncclComm_t, Team team, int rank) { return (rank - team.rank) * team.stride; }

// A number of slots, not a result: none.
int pncclLLA2ACalcSlots(int, int) {
    deadrank::inject::standin::warn("ncclLLA2ACalcSlots is not supported without a GPU: no slots");
    return 0;
}
}
