// results/emitters/releases.cpp — What differs between releases of the tools whose files we write.
#include <cstdlib>
#include <fmt/format.h>

#include "results/emitters/flight_recorder.h"
#include "results/emitters/logs.h"
#include "results/emitters/stamps.h"

namespace deadrank::results::emitters {

// Dump versions by release of torch: 2.11's was read from one of its dumps, the older ones from the
// analyzer's checks.
const std::vector<FlightRecorderProfile>& flight_recorder_profiles() {
    static const std::vector<FlightRecorderProfile> profiles = {
        {.torch = "2.5", .version = "2.4", .prefix = "nccl_trace_rank_", .library_key = "", .threads = false},
        {.torch = "2.7", .version = "2.7", .prefix = "nccl_trace_rank_", .library_key = "nccl_version"},
        {.torch = "2.11",
         .version = "2.10",
         .prefix = "comm_lib_trace_rank_",
         .library_key = "comm_lib_version"},
    };
    return profiles;
}

const FlightRecorderProfile& flight_recorder_profile(std::string_view torch) {
    const auto& all = flight_recorder_profiles();
    const FlightRecorderProfile* chosen = &all.front();
    for (const FlightRecorderProfile& one : all) {
        if (release(one.torch) <= release(torch)) chosen = &one;
    }
    return *chosen;
}

// How NCCL's log has been worded, read in the sources of each release (src/debug.cc, src/init.cc): a pattern
// that was written for one of them misses lines of another.
const std::vector<NcclLogProfile>& nccl_log_profiles() {
    static const std::vector<NcclLogProfile> profiles = {
        {.nccl = "2.18", .starts = "", .stamps = false, .function = false},
        {.nccl = "2.21", .starts = "ncclCommInitRank ", .stamps = false, .function = false},
        {.nccl = "2.23", .starts = "ncclCommInitRankConfig ", .stamps = false, .function = false},
        {.nccl = "2.26", .starts = "ncclCommInitRankConfig ", .stamps = true, .function = false},
        {.nccl = "2.29",
         .starts = "[Rank {rank}] ncclCommInitRankConfig ",
         .stamps = true,
         .function = false},
        {.nccl = "2.30", .starts = "[Rank {rank}] ncclCommInitRankConfig ", .stamps = true, .function = true},
    };
    return profiles;
}

const NcclLogProfile& nccl_log_profile(std::string_view nccl) {
    const NcclLogProfile* chosen = &nccl_log_profiles().front();
    for (const NcclLogProfile& one : nccl_log_profiles()) {
        if (release(one.nccl) <= release(nccl)) chosen = &one;
    }
    return *chosen;
}

// ── How ProcessGroupNCCL's time-out has been worded; a monitor that was written for one release misses it
// in another.

namespace {

// The number after `name`, which ends with '='.
std::int64_t number_after(std::string_view line, std::string_view name) {
    const std::size_t at = line.find(name);
    if (at == std::string_view::npos) return 0;
    return std::strtoll(std::string(line.substr(at + name.size(), 24)).c_str(), nullptr, 10);
}

}  // namespace

const std::vector<WatchdogProfile>& watchdog_profiles() {
    static const std::vector<WatchdogProfile> profiles = {
        {"1.13", false, "ProcessGroupNCCL.cpp:821",
         "[Rank {rank}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum={seq}, OpType={op}, "
         "Timeout(ms)={limit}) ran for {ran} milliseconds before timing out."},
        {"2.2", true, "ProcessGroupNCCL.cpp:525",
         "[Rank {rank}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum={seq}, OpType={op}, "
         "NumelIn={in}, NumelOut={out}, Timeout(ms)={limit}) ran for {ran} milliseconds before timing out."},
        {"2.11", true, "ProcessGroupNCCL.cpp:683",
         "[Rank {rank}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum={seq}, OpType={op}, "
         "NumelIn={in}, NumelOut={out}, Timeout(ms)={limit}) ran for {ran} milliseconds before timing out."},
        {"2.15", true, "ProcessGroupNCCL2.cpp:1",
         "Watchdog caught collective operation timeout: NCCL operation timed out"},
    };
    return profiles;
}

const WatchdogProfile& watchdog_profile(std::string_view torch) {
    const WatchdogProfile* chosen = &watchdog_profiles().front();
    for (const WatchdogProfile& one : watchdog_profiles()) {
        if (release(one.torch) <= release(torch)) chosen = &one;
    }
    return *chosen;
}

bool read_watchdog(std::string_view line, WatchdogLine& read) {
    constexpr std::string_view words = "Watchdog caught collective operation timeout: WorkNCCL(";
    const std::size_t at = line.find(words);
    if (at == std::string_view::npos) return false;
    const std::size_t rank = line.rfind("[Rank ", at);
    if (rank != std::string_view::npos) read.rank = std::atoi(std::string(line.substr(rank + 6, 10)).c_str());
    const std::string_view work = line.substr(at + words.size());
    read.seq = number_after(work, "SeqNum=");
    read.in = number_after(work, "NumelIn=");
    read.out = number_after(work, "NumelOut=");
    read.limit_ms = number_after(work, "Timeout(ms)=");
    read.ran_ms = number_after(work, "ran for ");
    const std::size_t op = work.find("OpType=");
    if (op != std::string_view::npos)
        read.op = std::string(work.substr(op + 7, work.find_first_of(",)", op) - op - 7));
    return true;
}

}  // namespace deadrank::results::emitters
