// sim/changes.h — How a machine may be changed from outside while the job runs. Each change replaces the one before it on
// the same thing, so the default-constructed change heals; memory leaks and counters already there stay.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "results/time.h"

namespace deadrank::sim {

using results::Time;

struct LinkChange {
    int from = -1, to = -1;  // nodes; -1 = any. from == to: the NVLink domain of that node
    bool one_way = false;
    bool down = false;
    std::int64_t bandwidth_permille = 1000;
    Time extra_latency{0};
    std::int64_t loss_ppb = 0;
};

struct DeviceChange {
    std::int64_t slow_permille = 1000;  // 2000 = takes twice as long
    std::int64_t memory_limit = -1;     // bytes; -1 = the device's own
    std::int64_t leak_per_step = 0;     // bytes
    int throttle = 0;                   // bits of device.sample
    int xid = 0;                        // reported to the kernel log, once
    bool off_bus = false;               // every later call on it fails
    std::int64_t ecc_uncorrected = 0, ecc_corrected = 0;  // added to the counters
};

struct HostChange {
    std::int64_t host_memory_limit = -1, shared_memory_limit = -1, open_files_limit = -1;
    std::int64_t leak_per_step = 0;  // bytes of host memory, for each rank on it
    Time clock_step{0};
    std::int64_t clock_drift_ppb = 0;
    bool down = false;  // the whole node is lost; it does not come back
};

// What befalls storage. flip, truncate, stale, swap and delete act on the files that are there, at once, and on
// those written later while the change stands; the others act on operations while it stands.
enum class StorageTrouble { none, flip, truncate, tear, lose, stale, swap, remove, slow, full, read_only };

struct StorageChange {
    std::string path;        // substring of the file's path; empty = all
    StorageTrouble what = StorageTrouble::none;
    std::int64_t amount = 0;  // bit index, elements kept, factor in thousandths, …
};

enum class NameTrouble { none, unresolvable, unroutable };

}  // namespace deadrank::sim
