// inject/standin/nccl/initialization.cpp — Communicators come into being: from a unique id, by one process
// for many devices, and out of another communicator.
#include <algorithm>
#include <array>
#include <cstring>

#include "inject/standin/device/standin_memory.h"
#include "inject/standin/nccl/group.h"
#include "inject/standin/nccl/standin_communicator.h"
#include "inject/standin/nccl/standin_job.h"

using namespace deadrank::inject::standin;

namespace {

ncclResult_t begin(ncclComm_t* into, int size, const ncclUniqueId& id, int rank, const ncclConfig_t* config) {
    if (!into) {
        warn("CommInitRank : comm argument is NULL");
        return ncclInvalidArgument;
    }
    *into = nullptr;
    if (size < 1 || rank < 0 || rank >= size) {
        warn("Invalid rank requested : {}/{}", rank, size);
        return ncclInvalidArgument;
    }
    ncclConfig_t read;
    if (const ncclResult_t bad = read_config(config, read); bad != ncclSuccess) return bad;
    const std::string address = address_of(id);
    if (address.empty()) {
        warn("the unique id was not made by this library: no job can be joined with it");
        return ncclInvalidArgument;
    }
    const ncclComm_t comm = make_communicator(address, address, rank, size, config, nullptr);
    *into = comm;
    return run_or_defer(comm, [comm] { return open_communicator(comm); });
}

// Every member's own number, by rank; empty when the communicator was aborted meanwhile.
std::vector<std::array<std::int32_t, 2>> gather_numbers(ncclComm_t parent, std::uint64_t sequence,
                                                        std::array<std::int32_t, 2> own) {
    std::vector<std::array<std::int32_t, 2>> all(static_cast<std::size_t>(parent->size));
    Call call;
    call.sequence = sequence;
    call.count = sizeof own;
    const std::string_view said(reinterpret_cast<const char*>(own.data()), sizeof own);
    const std::span<char> received(reinterpret_cast<char*>(all.data()), all.size() * sizeof own);
    if (!parent->member.await(parent->member.submit(call, said, received))) all.clear();
    return all;
}

// Runs where it may wait: all ranks exchange color and key, and each works out its own place.
ncclResult_t split(ncclComm_t parent, ncclComm_t child, std::uint64_t sequence, int color, int key) {
    const auto all = gather_numbers(parent, sequence, {color, key});
    if (all.empty()) return ncclInternalError;
    if (!child) return ncclSuccess;
    std::vector<std::pair<int, int>> members;  // key, rank in the parent
    for (int rank = 0; rank < parent->size; ++rank) {
        const auto& said = all[static_cast<std::size_t>(rank)];
        if (said[0] == color) members.emplace_back(said[1], rank);
    }
    std::sort(members.begin(), members.end());
    const auto own = std::find(members.begin(), members.end(), std::pair{key, parent->rank});
    child->rank = static_cast<int>(own - members.begin());
    child->size = static_cast<int>(members.size());
    child->communicator = fmt::format("{}/{}.{}", parent->communicator, sequence, color);
    return open_communicator(child);
}

}  // namespace

extern "C" {

ncclResult_t pncclGetUniqueId(ncclUniqueId* id) {
    if (!id) {
        warn("GetUniqueId : argument is NULL");
        return ncclInvalidArgument;
    }
    const auto made = begin_job();
    if (!made) return ncclSystemError;
    *id = *made;
    return ncclSuccess;
}

ncclResult_t pncclCommInitRank(ncclComm_t* comm, int size, ncclUniqueId id, int rank) {
    return Group::of_this_thread().fail(begin(comm, size, id, rank, nullptr));
}

ncclResult_t pncclCommInitRankConfig(ncclComm_t* comm, int size, ncclUniqueId id, int rank,
                                     ncclConfig_t* config) {
    const ncclResult_t answer = begin(comm, size, id, rank, config);
    return answer == ncclInProgress ? answer : Group::of_this_thread().fail(answer);
}

// All ranks bring the same list, so the first of it names the job.
ncclResult_t pncclCommInitRankScalable(ncclComm_t* comm, int size, int rank, int ids, ncclUniqueId* list,
                                       ncclConfig_t* config) {
    if (ids < 1 || !list) {
        warn("CommInitRankScalable : {} unique ids", ids);
        return ncclInvalidArgument;
    }
    return pncclCommInitRankConfig(comm, size, list[0], rank, config);
}

ncclResult_t pncclCommInitAll(ncclComm_t* comms, int count, const int* list) {
    Devices& devices = Devices::of_this_process();
    if (!comms || count < 1 || count > devices.count()) {
        warn("Invalid device count requested : {}", count);
        return ncclInvalidArgument;
    }
    ncclUniqueId id;
    if (const ncclResult_t bad = pncclGetUniqueId(&id); bad != ncclSuccess) return bad;
    const int before = devices.current();
    ncclResult_t answer = pncclGroupStart();
    for (int rank = 0; rank < count && answer == ncclSuccess; ++rank) {
        if (devices.choose(list ? list[rank] : rank))
            answer = pncclCommInitRank(comms + rank, count, id, rank);
        else
            answer = Group::of_this_thread().fail(ncclUnhandledCudaError);
    }
    const ncclResult_t ended = pncclGroupEnd();
    devices.choose(before);
    return answer == ncclSuccess ? ended : answer;
}

ncclResult_t pncclCommSplit(ncclComm_t parent, int color, int key, ncclComm_t* into, ncclConfig_t* config) {
    if (const ncclResult_t bad = check_usable(parent, "CommSplit"); bad != ncclSuccess) return bad;
    if (!into || color < NCCL_SPLIT_NOCOLOR) {
        warn("CommSplit : color {} must be NCCL_SPLIT_NOCOLOR or not negative, newcomm not NULL", color);
        return ncclInvalidArgument;
    }
    ncclConfig_t read;
    if (const ncclResult_t bad = read_config(config, read); bad != ncclSuccess) return bad;
    const bool stays_out = color == NCCL_SPLIT_NOCOLOR;
    *into = stays_out ? nullptr : make_communicator(parent->address, "", 0, 1, config, parent);
    return run_or_defer(stays_out ? parent : *into,
                        [parent, child = *into, sequence = ++parent->collectives, color, key] {
                            return split(parent, child, sequence, color, key);
                        });
}

ncclResult_t pncclCommShrink(ncclComm_t parent, int* excluded, int count, ncclComm_t* into,
                             ncclConfig_t* config, int flags) {
    if (!parent || !into || !excluded || count < 1) {
        warn("CommShrink : comm, newcomm and a list of excluded ranks are needed");
        return ncclInvalidArgument;
    }
    ncclConfig_t read;
    if (const ncclResult_t bad = read_config(config, read); bad != ncclSuccess) return bad;
    std::vector<int> out(excluded, excluded + count);
    std::sort(out.begin(), out.end());
    if (std::binary_search(out.begin(), out.end(), parent->rank)) {
        warn("CommShrink : rank {} is in the exclusion list and must not call", parent->rank);
        return ncclInvalidArgument;
    }
    if (flags & NCCL_SHRINK_ABORT) parent->member.abort();
    const auto before = std::lower_bound(out.begin(), out.end(), parent->rank) - out.begin();
    std::string communicator = parent->communicator + "/without";
    for (const int rank : out) communicator += fmt::format(".{}", rank);
    const ncclComm_t comm =
        make_communicator(parent->address, communicator, parent->rank - static_cast<int>(before),
                          parent->size - count, config, parent);
    *into = comm;
    return run_or_defer(comm, [comm] { return open_communicator(comm); });
}
}
