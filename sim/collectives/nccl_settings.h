// sim/collectives/nccl_settings.h — NCCL's environment variables as NCCL reads them: garbage becomes 0,
// unknown names are ignored, and only a few wrong values are noticed at all.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "results/record/changes.h"
#include "results/record/codes.h"
#include "results/record/time.h"
#include "sim/collectives/cost.h"

namespace deadrank::sim {

struct Fabric;
struct Process;
class Topology;

struct NcclSettings {
    std::string problem = {};  // what the rank's own initialisation fails with; empty = nothing noticed
    std::string raises = {};   // in these words, where they are not NCCL's
    std::string where = {};    // file and line of the warning
    results::Code problem_code = results::Code::ok;
    results::Time problem_after{0};

    int version = 0;  // as nccl_version_code() has it
    Algorithm algorithm = Algorithm::automatic;
    std::string interface = {};  // chosen for the bootstrap
    bool reaches_peers = true;   // whether other nodes can answer to it
    std::string loopback = {};   // gloo: the address of its own host alone that it gives its peers
    bool falls_back = false;  // gloo: to the loopback, since the host's name leads to no address of its own
    std::int64_t interface_bandwidth = 0;  // that sockets over it reach; 0 = the link's
    std::string root_address = {};         // NCCL_COMM_ID
    std::int64_t channels_max = -1;
    bool socket_transport = false;
    results::DirectAccess direct = results::DirectAccess::works;  // of its cards to the devices' memory
    bool sends_copies = false;       // what is sent is copied through host memory, what is received is not
    std::string copies_for = {};     // the variable that asks for the copies
    std::int64_t gid_index = -1;     // NCCL_IB_GID_INDEX; -1: chosen by the library
    bool peers_stuck = false;        // on its node, where it would use them
    bool through_shared = false;     // data to the devices of its node goes through shared memory
    std::vector<int> cards = {};     // of its node that NCCL_IB_HCA leaves, ascending; empty = all
    bool gives_up = true;            // a network transfer, at last
    std::int64_t network_chunk = 0;  // bytes of a message between nodes, which the receiver must expect
    std::int64_t ib_timeout = 20;
    std::int64_t ib_retries = 7;
    bool warns = true;  // prints WARN lines
    bool informs = false;

    results::Time retry_window()
        const;  // how long a network transfer is retried before it is given up; never = for ever

    // What one member's way to the network makes of a link's bandwidth, in thousandths.
    std::int64_t own_permille(std::int64_t link_bandwidth) const;
    std::string transport() const;                            // between nodes, as the log of a start names it
    std::string transport_inside() const;                     // within a node
    int card_for(int local, const Topology& topology) const;  // that a device's data leaves its node by
};

// Of a group over gloo the interface is the one that gloo takes.
NcclSettings read_nccl_settings(const Fabric& machine, const Process& process, bool over_gloo);

// 2.28.9 as 22809; 0 when it is no version at all.
int nccl_version_code(const std::string& version);

}  // namespace deadrank::sim
