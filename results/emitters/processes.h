// results/emitters/processes.h — Who ran where, as log lines name a process: host, pid, device, rank.
#pragma once

#include <map>
#include <string>

#include "results/record/evidence.h"

namespace deadrank::results::emitters {

struct ProcessPlace {
    Rank process = no_rank;
    Rank rank = no_rank;  // as RANK named it at the rendezvous; else the process
    std::int32_t pid = 0, node = 0, gpu = 0, attempt = 0;
    std::string host, torch, nccl, cuda;
};

// The last start of each process up to `at`.
std::map<Rank, ProcessPlace> places_of(const Evidence& evidence, Time at);

std::uint64_t comm_hash(CommId comm);                // what NCCL calls commId, and RAS hash
std::string bus_id(std::int32_t gpu);                // "0000:19:00"
std::string nccl_prefix(const ProcessPlace& place);  // "node0:1000:1000 [0]"

}  // namespace deadrank::results::emitters
