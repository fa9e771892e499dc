// sim/machine/changes.h — How a machine may be changed from outside while the job runs. Changes are states:
// members left unset stay as they are, and undoing is setting what was normal.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "results/record/time.h"

namespace deadrank::sim {

using results::Time;

struct LinkChange {
    int from = -1, to = -1;  // nodes; -1 = any other; equal = the NVLink domain of that node
    bool one_way = false;    // only what goes from `from` to `to`
    std::optional<bool> down = {};
    bool reset = false;  // going down breaks connections at once, where a cut cable is silence
    std::optional<std::int64_t> bandwidth_permille = {};
    std::optional<Time> extra_latency = {};
    std::optional<std::int64_t> loss_ppb = {};
};

struct DeviceChange {
    std::optional<std::int64_t> slow_permille = {};       // 2000 = takes twice as long
    std::optional<std::int64_t> memory_limit = {};        // bytes; -1 = as built
    std::optional<std::int64_t> leak_per_step = {};       // bytes
    std::optional<int> throttle = {};                     // bits of device.sample
    std::optional<bool> off_bus = {};                     // every later call on it fails
    int xid = 0;                                          // one report in the kernel log
    std::int64_t ecc_uncorrected = 0, ecc_corrected = 0;  // that many more
};

struct HostChange {
    std::optional<std::int64_t> host_memory_limit = {}, shared_memory_limit = {},
                                open_files_limit = {};  // -1 = as built
    std::optional<std::int64_t> leak_per_step = {};  // bytes of host memory, for each step of each rank on it
    std::optional<std::int64_t> clock_drift_ppb = {};
    Time clock_step{0};
    bool down = false;  // the whole node is lost; it does not come back
};

// flip, truncate, swap and remove act on the files that are there, at once, or on the next such file to be
// written when there is none yet; tear and lose act on the next write; stale, slow, full and read_only last
// until ended.
enum class StorageTrouble { none, flip, truncate, tear, lose, stale, swap, remove, slow, full, read_only };

struct StorageChange {
    std::string path;  // substring of the file's path; empty = all
    StorageTrouble what = StorageTrouble::none;
    std::int64_t amount = 0;  // bit index, elements kept, factor in thousandths, elements still free
    bool end = false;         // takes stale, slow, full or read_only back
};

// Of one process's way to the store.
enum class StoreTrouble { none, mute, refuse, cut, late };

enum class NameTrouble { none, unresolvable, unroutable };

}  // namespace deadrank::sim
