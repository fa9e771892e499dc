// results/emitters/logs.h — The log lines of a job as NCCL, the kernel, the ranks and torchrun write them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "results/emitters/emitter_catalog.h"
#include "results/emitters/snapshot.h"

namespace deadrank::results::emitters {

// What differs between releases of torch in the watchdog's words.
struct WatchdogProfile {
    std::string torch;    // since this release
    bool c10_prefix;      // "[rank1]:[E…]", else "[E ProcessGroupNCCL.cpp:…]"
    std::string source;   // file:line after the time; the line number is that of one release
    std::string timeout;  // with {rank} {seq} {op} {in} {out} {limit} {ran} to be filled in
};
const std::vector<WatchdogProfile>& watchdog_profiles();
const WatchdogProfile& watchdog_profile(std::string_view torch);

// What differs between releases of NCCL in its own log.
struct NcclLogProfile {
    std::string nccl;    // since this release
    std::string starts;  // what precedes "comm 0x…" at Init START; {rank} is the rank
    bool stamps;         // NCCL_DEBUG_TIMESTAMP_LEVELS exists; a WARN has the time by default
    bool function;       // a WARN names its function after file:line
};
const std::vector<NcclLogProfile>& nccl_log_profiles();
const NcclLogProfile& nccl_log_profile(std::string_view nccl);

// logs/rank_<R>.log: standard error of each rank. A watchdog's line has the wording of the rank's torch.
std::vector<EmittedFile> c10d_logs(const Evidence& evidence, const Snapshot& snapshot);

// nccl/<host>.<pid>.log, as with NCCL_DEBUG_FILE=%h.%p, NCCL_DEBUG=INFO and, where the release has them,
// stamps on every level; in the wording of the process's NCCL.
std::vector<EmittedFile> nccl_logs(const Evidence& evidence, const Snapshot& snapshot);

// torchrun/agent.log, torchrun/attempt_<N>/<rank>/error.json where a rank raised.
std::vector<EmittedFile> torchrun_files(const Evidence& evidence, const Snapshot& snapshot);

// kernel/<host>.log: dmesg -T of each node, with XIDs and the out-of-memory killer.
std::vector<EmittedFile> kernel_logs(const Evidence& evidence, const Snapshot& snapshot);

// A parsed "Watchdog caught" line.
struct WatchdogLine {
    Rank rank = no_rank;
    std::int64_t seq = 0, in = 0, out = 0, limit_ms = 0, ran_ms = 0;
    std::string op;
};
bool read_watchdog(std::string_view line, WatchdogLine& read);

}  // namespace deadrank::results::emitters
