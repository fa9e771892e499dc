// inject/standin/nccl/job.h — Where the ranks of one unique id meet: a coordinator that the first of them
// starts, at an address that the id carries.
#pragma once

#include <cstdint>
#include <nccl.h>
#include <optional>
#include <string>

namespace deadrank::standin {

// Empty when the coordinator could not be started; a warning said why.
std::optional<ncclUniqueId> begin_job();
// Empty when the id is none of ours.
std::string address_of(const ncclUniqueId& id);

// Ranks with the same one share memory: by NCCL_HOSTID, else by host name.
std::uint64_t host_of_this_process();

}  // namespace deadrank::standin
