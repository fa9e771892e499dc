// runners/backend/memory.h — How much memory this machine has left for a run, how much this process uses, and
// how many processors there are.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "scenarios/model/error.h"

namespace deadrank::runners {

// Bytes that this process may still take: the least that /proc/meminfo, its control group (version 2) and
// `ulimit -v` leave. INT64_MAX where none of them can be read.
std::int64_t free_memory();

// Bytes of this process that lie in memory; 0 if that cannot be read.
std::int64_t resident_memory();

// At least 1.
int processor_count();

// "500M", "8GiB", "8g", "100000": bytes, in powers of 1024. Errors: usage.
scenarios::Result<std::int64_t> read_memory(const std::string& words);

// "1.5 GiB"
std::string memory_text(std::int64_t bytes);

// A bound on what this process takes from now on: so many bytes or, if that is 0, all but 64 MiB of what the
// machine has free. Nothing is read from the machine until a question is asked that needs it.
class MemoryBudget {
public:
    explicit MemoryBudget(std::int64_t bytes);

    // Whether a run that needs at least so many bytes may begin. Errors: environment.
    scenarios::Result<void> admit(std::int64_t least) const;
    bool exceeded() const;
    scenarios::Error refusal() const;  // of a run that exceeded it

private:
    std::int64_t stated_, begun_;
};

}  // namespace deadrank::runners
