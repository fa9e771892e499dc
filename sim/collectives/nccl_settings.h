// sim/collectives/nccl_settings.h — NCCL's environment variables as NCCL reads them: garbage becomes 0,
// unknown names are ignored, and only a few wrong values are noticed at all.
#pragma once

#include <cstdint>
#include <string>

#include "results/record/codes.h"
#include "results/record/time.h"
#include "sim/collectives/cost.h"

namespace deadrank::sim {

struct Fabric;
struct Process;

struct NcclSettings {
    std::string problem = {};  // what the rank's own initialisation fails with; empty = nothing noticed
    std::string where = {};    // file and line of the warning
    results::Code problem_code = results::Code::ok;
    results::Time problem_after{0};

    int version = 0;  // as nccl_version_code() has it
    Algorithm algorithm = Algorithm::automatic;
    std::string interface = {};     // chosen for the bootstrap
    bool reaches_peers = true;      // whether other nodes can answer to it
    std::string root_address = {};  // NCCL_COMM_ID
    std::int64_t channels_max = -1;
    bool socket_transport = false;
    bool gives_up = true;            // a network transfer, at last
    std::int64_t network_chunk = 0;  // bytes of a message between nodes, which the receiver must expect
    std::int64_t ib_timeout = 20;
    std::int64_t ib_retries = 7;
    bool warns = true;  // prints WARN lines
    bool informs = false;

    results::Time retry_window()
        const;  // how long a network transfer is retried before it is given up; never = for ever
};

NcclSettings read_nccl_settings(const Fabric& machine, const Process& process);

// 2.28.9 as 22809; 0 when it is no version at all.
int nccl_version_code(const std::string& version);

}  // namespace deadrank::sim
