// runners/backend/runner.cpp — What is the same in each backend: a failure of this machine becomes an error.
#include "runners/backend/runner.h"

#include <cstdint>
#include <fstream>
#include <string>

namespace deadrank::runners {

namespace {

// How many processes this machine's kernel has ended for want of memory since it began; 0 where it does not
// say.
std::uint64_t processes_ended_for_memory() {
    std::ifstream in("/proc/vmstat");
    for (std::string name, number; in >> name >> number;)
        if (name == "oom_kill") return std::stoull(number);
    return 0;
}

}  // namespace

Runner::~Runner() = default;

scenarios::Result<Record> Runner::run(const scenarios::Plan& plan, const RunOptions& options) {
    const std::uint64_t before = starts_processes() ? processes_ended_for_memory() : 0;
    try {
        auto record = play(plan, options);
        // A rank that is ended so dies as if it had been killed by a fault.
        if (record && starts_processes() && processes_ended_for_memory() > before)
            return scenarios::refuse(
                scenarios::ErrorCode::environment,
                "this machine's kernel ended a process for want of memory during the run",
                "free memory, or play fewer ranks");
        return record;
    } catch (const std::exception& thrown) {
        if (!scenarios::is_host_failure(thrown)) throw;
        return tl::unexpected(scenarios::host_error(thrown));
    }
}

}  // namespace deadrank::runners
