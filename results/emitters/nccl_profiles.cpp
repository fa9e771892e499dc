// results/emitters/nccl_profiles.cpp — How NCCL's log has been worded, read in the sources of each release
// (src/debug.cc, src/init.cc): a pattern that was written for one of them misses lines of another.
#include "results/emitters/logs.h"
#include "results/emitters/releases.h"

namespace deadrank::results::emitters {

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

}  // namespace deadrank::results::emitters
