// results/emitters/snapshot.h — One moment of a job: which processes live, and which calls are under way.
#pragma once

#include <map>
#include <string>

#include "results/record/evidence.h"

namespace deadrank::results::emitters {

// The moment at which an operator would take dumps and ask RAS. It is derived from evidence alone, so that no
// tool learns when the fault was.
enum class SnapshotReason {
    watchdog,  // a watchdog ended its process, and dumped before
    silence,   // no rank made progress for a minute, and an operator looks
    ended,     // the job ended
    watched,   // neither: the end of observation
};

struct Snapshot {
    Time at{0};
    SnapshotReason reason = SnapshotReason::watched;
};

inline constexpr Time patience{60'000'000'000};  // how long an operator waits before looking at a silent job

Snapshot snapshot_of(const Evidence& evidence);

// When a poller, of RAS for example, first sees a minute without progress while the job still runs; the
// snapshot's moment when it never does.
Time first_silence(const Evidence& evidence);

// Who ran where, as log lines name a process: host, pid, device, rank.
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
