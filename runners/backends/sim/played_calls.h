// runners/backends/sim/played_calls.h — What each rank of a workload does in one step, in order, as the
// simulator sees it: calls, seams with the value that was read, and blocks. For pages that show it to people.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "scenarios/model/value.h"
#include "sim/machine/call.h"
#include "sim/workloads/settings.h"

namespace deadrank::runners {

struct PlayedCall {
    sim::CallKind kind = sim::CallKind::collective;
    std::string name;  // as in a trigger's `before`
    std::string comm;  // empty where there is none
    std::int64_t step = -1;
    results::Phase phase = results::Phase::none;
    std::int64_t count = 0;  // elements, bytes, nanoseconds, or the value of a seam
    results::Dtype dtype = results::Dtype::none;
    results::Rank peer = -1;  // or root

    // Whether it is the same call, apart from its peer and the value of a seam.
    bool is_like(const PlayedCall& other) const;
};

struct PlayedJob {
    std::vector<std::vector<PlayedCall>> ranks;  // by rank, in order of its own time
    std::uint64_t hash = 0;                      // of all that happened
};

// What is done to a run, where what a setting does shows only in trouble.
struct Disturbance {
    std::map<std::string, std::int64_t, std::less<>> seams = {};  // what every rank reads there
    std::vector<std::string> left_out = {};                       // blocks
    std::string killed_before = {};                               // `killed`, once; empty = nobody
    std::int64_t killed_at = -1;                                  // … in this step; -1 = in any
    results::Rank killed = 1;
    std::map<std::string, std::string> environment = {};  // of rank 1; empty text = not set
    std::string lost_file = {};                           // gone when rank 0 begins step 2
};

// A run that is healthy but for that. `cluster` and `workload` hold what differs from the defaults. Error: a
// setting that is unknown.
scenarios::Result<PlayedJob> played_calls(const sim::WorkloadKind& kind, const scenarios::Values& cluster,
                                          const scenarios::Values& workload,
                                          const Disturbance& disturbance = {});

}  // namespace deadrank::runners
