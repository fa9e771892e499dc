// inject/core/levers.h — What a backend lets a fault pull. A lever that a backend lacks answers `unsupported`
// with the reason, and the run becomes unknown with that sentence. On real machines every pull is journalled
// before it is done.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "results/record/codes.h"
#include "results/record/time.h"
#include "scenarios/model/error.h"

namespace deadrank::inject {

using results::Rank;
using results::Time;
using scenarios::Result;

struct Done {};  // the lever moved

// How one call of a rank is altered (see sim/machine/call.h; the shims for real libraries read the same names
// from the plan file).
struct Alteration {
    bool skip = false;
    bool hold = false;  // exchanged with the rank's next call
    Time delay{0};
    std::int64_t count_change = 0;  // elements more or less
    std::int64_t count_set = -1;
    results::Dtype dtype = results::Dtype::none;
    results::Op op = results::Op::none;
    results::ReduceOp reduce = results::ReduceOp::none;
    std::int32_t root = -1;
    results::Code answer = results::Code::ok;
    std::int64_t flip_bit = -1;
    bool flip_received = false;
    bool flip_on_the_way = false;  // in the bytes that leave the rank: what it has itself stays as it is
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

// value × multiply / divide + add, or `set`; bounded, never wrapping.
std::int64_t bent(std::int64_t value, const Bend& bend);

// The changes below are states, not deeds: members left unset stay as they are, and undoing is setting what
// was normal.
struct LinkChange {
    int from = -1, to = -1;  // nodes; -1 = any other; equal = the links within that node
    bool one_way = false;    // only what goes from `from` to `to`
    std::optional<bool> down = {};
    bool reset = false;  // going down breaks connections at once, where a cut cable is silence
    std::optional<std::int64_t> bandwidth_permille = {};  // 1000 = normal
    std::optional<Time> extra_latency = {};
    std::optional<std::int64_t> loss_ppb = {};  // messages lost per billion
};

struct StorageChange {
    std::string path = {};    // substring of the file's path; empty = all
    std::string what = {};    // "flip", "truncate", "swap", "delete" at once; "tear", "lose" the next write;
                              // "stale", "slow", "full", "read_only" until ended
    std::int64_t amount = 0;  // bit, elements kept, factor in thousandths, elements still free
    bool end = false;         // takes "stale", "slow", "full" or "read_only" back
};

struct DeviceChange {
    std::optional<std::int64_t> slow_permille = {};       // 1000 = normal, 2000 = takes twice as long
    std::optional<std::int64_t> memory_limit = {};        // bytes; -1 = as built
    std::optional<std::int64_t> leak_per_step = {};       // bytes
    std::optional<int> throttle = {};                     // bits of device.sample; 0 = none
    std::optional<bool> off_bus = {};                     // the device is gone: every later call on it fails
    int xid = 0;                                          // one report in the kernel log; 0 = none
    std::int64_t ecc_uncorrected = 0, ecc_corrected = 0;  // that many more
};

struct HostChange {
    std::optional<std::int64_t> host_memory_limit = {}, shared_memory_limit = {},
                                open_files_limit = {};  // -1 = as built
    std::optional<std::int64_t> leak_per_step = {};     // bytes of host memory
    std::optional<std::int64_t> clock_drift_ppb = {};
    Time clock_step{0};  // the clock jumps once by that much
    bool down = false;   // the whole node is lost, for good
};

// What becomes of all that one rank and the rendezvous store say to each other.
struct StoreChange {
    std::string how = {};  // "mute", "refuse", "cut", "late", "narrow", "flip"; empty = as it should be
    Time late{0};          // of "late"
    std::int64_t amount =
        0;  // cut: bytes that still pass; narrow: bytes a second; flip: which bit of the answers
};

class Levers {
public:
    virtual ~Levers() = default;

    // Where things are. Faults aim with these.
    virtual Rank ranks() const = 0;
    virtual int node_of(Rank rank) const = 0;
    virtual std::vector<Rank> ranks_of(int node) const {
        std::vector<Rank> there;
        for (Rank rank = 0; rank < ranks(); ++rank) {
            if (node_of(rank) == node) there.push_back(rank);
        }
        return there;
    }

    // Before the job starts.
    virtual Result<Done> set_env(Rank rank, std::string_view name, std::string_view value) = 0;
    virtual Result<Done> unset_env(Rank rank, std::string_view name) = 0;
    virtual Result<Done> set_version(Rank rank, std::string_view package, std::string_view version) = 0;
    virtual Result<Done> swap_ranks(Rank a, Rank b) = 0;  // RANK of two processes exchanged
    virtual Result<Done> break_package(Rank rank, std::string_view package, std::string_view problem) = 0;
    virtual Result<Done> take_port(int node, std::string_view port,
                                   bool mute) = 0;  // something else listens there
    virtual Result<Done> break_name(Rank rank, std::string_view host,
                                    std::string_view how) = 0;  // "unresolvable", "unroutable"
    virtual Result<Done> add_interface(int node, std::string_view name, bool routable, bool sorts_first) = 0;

    // At any time.
    virtual Result<Done> kill(Rank rank, int signal) = 0;
    virtual Result<Done> exit(Rank rank, int code,
                              std::string_view says) = 0;  // its own code raises and leaves
    virtual Result<Done> stop(Rank rank) = 0;              // SIGSTOP
    virtual Result<Done> resume(Rank rank) = 0;
    virtual Result<Done> change_device(Rank rank, const DeviceChange& change) = 0;
    virtual Result<Done> change_host(int node, const HostChange& change) = 0;
    virtual Result<Done> change_link(const LinkChange& change) = 0;
    virtual Result<Done> change_storage(const StorageChange& change) = 0;
    virtual Result<Done> change_store(Rank rank, const StoreChange& change) = 0;
    virtual Result<Done> preempt(std::string_view reason) = 0;  // the scheduler takes the whole job

    // At the moment that triggered: alters the very call under way of that rank.
    virtual Result<Done> alter_call(Rank rank, const Alteration& alteration) = 0;

    // Named values and blocks of the workload; last until unset, from the next time they are passed.
    virtual Result<Done> bend(Rank rank, std::string_view seam, const Bend& bend) = 0;
    virtual Result<Done> unbend(Rank rank, std::string_view seam) = 0;
    virtual Result<Done> skip_block(Rank rank, std::string_view block, bool skip) = 0;
};

}  // namespace deadrank::inject
