// results/analysis/signatures.h — What the lines of a failed job's log mean: phrases that frameworks,
// launchers, schedulers and kernels print, each with its symptom and likely causes. All phrases are general;
// none is about one incident.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace deadrank::results::analysis {

// How near a line is to the cause. The first kinds beat the later ones, whatever came first in time: a rank
// that waits for a dead rank often complains before the launcher reports the death.
enum class Nearness {
    hardware,  // a kernel or a driver reports a fault of the machine
    own,       // an error of the process that prints it
    link,      // a transport gave up on a peer
    waiting,   // a bound on a collective, a barrier, a heartbeat ran out
    echo,      // a peer is gone: another process failed
    ending,    // a launcher says how a process ended
    stopped,   // ended from outside: a user, a time limit, a preemption
    finished,  // proof that the job came to its end
};

struct Signature {
    std::string_view words;
    Nearness nearness = Nearness::own;
    std::string_view symptom = {};                // empty: the job ended, nothing more is known
    std::array<std::string_view, 3> causes = {};  // likeliest first
    std::string_view beside = {};                 // further words required in the same text
};

// The first signature in the table that matches; nullptr if none does. One pass over the text.
const Signature* signature_in(std::string_view text);

std::span<const Signature> all_signatures();

// "SomethingError: …", "package.module.SomeException: …" at the beginning of a line.
bool begins_with_exception(std::string_view line);

// How much of a job's logs the reader understood. Kept in the evidence as a log line of no rank.
struct LogRead {
    std::int64_t lines = 0, not_understood = 0;
    std::int64_t untold = 0;  // left out to bound memory
    std::int64_t files = 0;
    std::int64_t orphans = 0;     // tracebacks of unknown rank
    std::int64_t ranks_told = 0;  // the world size, where a line names it
    std::int64_t stamps = 0;      // lines with a time; 0: no time in the log means anything

    std::string line() const;
    static std::optional<LogRead> of_line(std::string_view line);
};

}  // namespace deadrank::results::analysis
