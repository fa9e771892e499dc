// results/emitters/watchdog_profiles.cpp — How ProcessGroupNCCL's time-out has been worded; a monitor that
// was written for one release misses it in another.
#include <cstdlib>
#include <fmt/format.h>

#include "results/emitters/logs.h"
#include "results/emitters/releases.h"

namespace deadrank::results::emitters {

namespace {

// The number behind `name`, which ends with '='.
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
