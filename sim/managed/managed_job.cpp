// sim/managed/managed_job.cpp — An unmodified Python program as the workload of a simulated job.
#include "sim/managed/managed_job.h"

#include "sim/managed/proxy.h"

namespace deadrank::sim::managed {

void ManagedJob::play(World& world) {
    if (stopped()) return;
    try {
        Proxy proxy(*this, world);
        proxy.run();
    } catch (const HostTrouble& trouble) {
        if (!trouble_) trouble_ = trouble;
    }
}

}  // namespace deadrank::sim::managed
