// sim/machine/health_check.h — What a node health check finds: whether the node answers, what its kernel log
// and its counters say of devices, ports, cards and disks, and whether a device still holds a kernel.
#pragma once

#include <string>
#include <vector>

namespace deadrank::sim {

struct Machine;

struct SickNode {
    int node = 0;
    std::string finding;  // "GPU 3: Xid 79"
};

// Nodes that are gone, and those with a defect if the cluster checks for them. Which defects count follows
// what operators tell of their checks: devices that report a fatal Xid or uncorrected memory errors, and
// disks that answer an error, count at once (ByteRobust, SOSP 2025; Meta RSC, HPCA 2025), and so do clocks
// that heat has lowered; a port may go down once while the job runs, since retries bridge that.
std::vector<SickNode> sick_nodes(Machine& machine, bool job_has_ended);

}  // namespace deadrank::sim
