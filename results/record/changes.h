// results/record/changes.h — What can be changed about a running job from outside: one record per kind of
// thing, filled in by faults and carried out by backends. Most are states, not actions: unset members stay as
// they are, and undoing means setting the normal value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "results/record/codes.h"
#include "results/record/time.h"

namespace deadrank::results {

struct LinkChange {
    int from = -1, to = -1;  // nodes; -1 = any other; equal = the links within that node (its NVLink domain)
    bool one_way = false;    // only what goes from `from` to `to`
    std::optional<bool> down = {};
    bool reset = false;  // going down resets connections at once; false: a silent cut cable
    std::optional<std::int64_t> bandwidth_permille = {};  // 1000 = normal
    std::optional<Time> extra_latency = {};
    std::optional<std::int64_t> loss_ppb = {};  // messages lost per billion
};

struct DeviceChange {
    std::optional<std::int64_t> slow_permille = {};       // 1000 = normal, 2000 = takes twice as long
    std::optional<std::int64_t> memory_limit = {};        // bytes; -1 = as built
    std::optional<std::int64_t> leak_per_step = {};       // bytes
    std::optional<int> throttle = {};                     // bits of device.sample; 0 = none
    std::optional<bool> off_bus = {};                     // the device is gone: every later call on it fails
    int xid = 0;                                          // one report in the kernel log; 0 = none
    std::int64_t ecc_uncorrected = 0, ecc_corrected = 0;  // added to the counters
};

// How the network cards of a node reach the memory of its devices: themselves; through copies in host memory;
// themselves, with accesses that the PCIe switches turn away.
enum class DirectAccess { works, copied, blocked };

// What becomes of connections that other nodes open to a node, beside those to the store.
enum class Firewall { open, rejects, drops };

struct HostChange {
    std::optional<std::int64_t> host_memory_limit = {}, shared_memory_limit = {}, open_files_limit = {},
                                locked_memory_limit = {};  // -1 = as built
    std::optional<std::int64_t> leak_per_step = {};  // bytes of host memory, for each step of each rank on it
    std::optional<std::int64_t> clock_drift_ppb = {};
    std::optional<DirectAccess> direct = {};
    std::optional<bool> peers_stuck = {};  // transfers between its devices never end
    std::optional<Firewall> firewall = {};
    Time clock_step{0};  // the clock jumps once by that much
    bool down = false;   // the whole node is lost, for good
};

// flip, truncate, swap and remove ("delete" in words) act at once on existing files, or on the next such file
// written if there is none yet; tear and lose act on the next write; stale, slow, full and read_only last
// until ended.
enum class StorageTrouble { none, flip, truncate, tear, lose, stale, swap, remove, slow, full, read_only };

struct StorageChange {
    std::string path = {};  // substring of the file's path; empty = all
    StorageTrouble what = StorageTrouble::none;
    std::int64_t amount = 0;  // bit index, elements kept, factor in thousandths, elements still free
    bool end = false;         // takes stale, slow, full or read_only back
};

// What happens to all traffic between one rank and the rendezvous store; none = normal.
enum class StoreTrouble { none, mute, refuse, cut, late, narrow, flip };

struct StoreChange {
    StoreTrouble how = StoreTrouble::none;
    Time late{0};  // the delay of `late`
    std::int64_t amount =
        0;  // cut: bytes that still pass; narrow: bytes a second; flip: which bit of the answers
};

enum class NameTrouble { none, unresolvable, unroutable, loopback };

// How one call of a rank is altered. The shims for real libraries read the same names from the plan file.
struct Alteration {
    bool skip = false;
    bool hold = false;  // swapped with the rank's next call
    Time delay{0};
    std::int64_t count_change = 0;  // elements more or less
    std::int64_t count_set = -1;
    Dtype dtype = Dtype::none;
    Op op = Op::none;
    ReduceOp reduce = ReduceOp::none;
    std::int32_t root = -1;
    Code answer = Code::ok;
    std::int64_t flip_bit = -1;
    bool flip_received = false;
    bool flip_on_the_way = false;  // in the bytes that leave the rank; its own copy stays intact
    bool never_completes = false;
};

// How a named value is bent: result = (value × multiply / divide) + add, or `set`.
struct Bend {
    bool set_it = false;
    std::int64_t set = 0;
    std::int64_t add = 0;
    std::int64_t multiply = 1;
    std::int64_t divide = 1;
};

// A check of the program on one of its values: what it refuses, and in which words.
enum class Relation { above, below, equal, other_than, no_multiple_of, no_divisor_of };

struct ValueCheck {
    Relation refuses = Relation::other_than;
    std::int64_t than = 0;
    std::string against;  // a setting that stands for `than`; empty = none
    std::string says;     // {value} and {than} stand for the numbers

    bool fits(std::int64_t value, std::int64_t other) const;  // the value is refused
    std::string words(std::int64_t value, std::int64_t other) const;
};

// In the order of `Relation`.
const std::vector<std::string>& relation_words();

// value × multiply / divide + add, or `set`; bounded, never wrapping.
std::int64_t bent(std::int64_t value, const Bend& bend);

// As scenario and plan files write them. The empty word stands for none, and so does an unknown one.
std::string_view name_of(StorageTrouble trouble);
std::string_view name_of(StoreTrouble trouble);
std::string_view name_of(NameTrouble trouble);
StorageTrouble storage_trouble_named(std::string_view name);
StoreTrouble store_trouble_named(std::string_view name);
NameTrouble name_trouble_named(std::string_view name);

}  // namespace deadrank::results
