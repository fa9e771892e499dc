// sim/world/world.h — All that a rank's code may see: its environment, its clock, its device, its peers, its
// disk. No fault, no evidence. Workloads are written against this alone and run unchanged in the simulator,
// under Open MPI and on GPUs.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "results/record/event.h"
#include "sim/world/comm.h"
#include "sim/world/failure.h"
#include "sim/world/members.h"

namespace deadrank::sim {

// The rank's own clock: offset, drift and steps included, as a real host's would be.
class Timer {
public:
    virtual ~Timer() = default;
    virtual Time now() const = 0;
    virtual void sleep(Time duration) = 0;
    // Ranks that are due at this same moment go first; where each rank has a thread of its own, nothing.
    virtual void yield_turn() {}
};

class Env {
public:
    virtual ~Env() = default;
    virtual std::optional<std::string> get(std::string_view name) const = 0;
    // All variables of the launcher and the cluster, sorted by name.
    virtual std::vector<std::pair<std::string, std::string>> variables() const { return {}; }
    virtual std::string version(
        std::string_view package) const = 0;  // "nccl", "torch", …; empty = not installed
};

// What becomes of signals that reach a process.
class Signals {
public:
    virtual ~Signals() = default;
    // From now on a signal of this number is kept until it is taken; otherwise it does what it does.
    virtual void keep(int number, bool yes) = 0;
    virtual int take() = 0;  // a signal that was kept; 0: there is none
};

// One accelerator. Times are nominal: a throttled or slow one takes longer.
class Device {
public:
    virtual ~Device() = default;
    virtual int index() const = 0;
    virtual int count() const { return 1; }  // of the node
    // As the process sees them, which CUDA_VISIBLE_DEVICES decides: how many, the device behind a number,
    // which is -1 where there is none, and the number of its own.
    virtual int visible() const { return count(); }
    virtual int seen(int number) const { return number < count() ? number : -1; }
    virtual int number() const { return index(); }
    virtual void choose_by_place() {}  // before all else: whatever LOCAL_RANK says
    virtual void choose(int device) {  // from now on this one, where a backend can
        if (device != index()) throw RankFailure("RuntimeError: here a rank keeps the device that it has");
    }
    virtual void compute(Time nominal) = 0;  // blocks the rank that long
    // Of a kernel that runs beside the rank: how long it takes. A backend without streams computes at once.
    virtual Time queue(Time nominal) {
        compute(nominal);
        return Time{0};
    }
    virtual Time clock() const { return Time{0}; }  // that no host's clock disturbs; all at 0 without streams
    virtual std::int64_t allocate(std::int64_t bytes) = 0;  // a handle; throws OutOfMemory
    // On another device of the node, as a careless process does; where a backend cannot, on its own.
    virtual std::int64_t allocate_on(int /*device*/, std::int64_t bytes) { return allocate(bytes); }
    virtual void release(std::int64_t handle) = 0;
    virtual std::int64_t used() const = 0;
    virtual std::int64_t limit() const = 0;
    // What nobody holds of a device of the node; where a backend cannot, of its own.
    virtual std::int64_t free_on(int /*device*/) const { return limit() - used(); }
    virtual std::int64_t allocate_host(std::int64_t bytes,
                                       bool pinned = false) = 0;  // host memory; also throws OutOfMemory
};

// The rendezvous store (c10d's TCPStore): keys shared by all ranks, hosted where MASTER_ADDR and MASTER_PORT
// say.
class Store {
public:
    virtual ~Store() = default;
    virtual void set(std::string_view key, std::string_view value) = 0;
    virtual std::optional<std::string> wait(std::string_view key, Time timeout) = 0;  // nullopt = timed out
    virtual std::int64_t add(std::string_view key, std::int64_t amount) = 0;          // the sum after it
    // Sets the key where it has no value yet; what it holds then. Of several callers the first one wins.
    virtual std::string set_once(std::string_view key, std::string_view value) = 0;
    // It outlives the ranks: what an earlier round of them wrote may still be there.
    virtual bool kept() const { return false; }
    // Ranks make a communicator together that met at one store under one prefix: alike for those alone.
    virtual std::uint64_t meeting() const { return 0; }
    // c10d's other calls: the value afterwards, whether the key was there, how many keys there are.
    virtual std::string compare_set(std::string_view, std::string_view, std::string_view) { unknown(); }
    virtual bool erase(std::string_view) { unknown(); }
    virtual std::int64_t count() { unknown(); }

private:
    [[noreturn]] static void unknown() {
        throw RankFailure("RuntimeError: this store does not know that call");
    }
};

// `create` answers Code::invalid_usage where that name is there when the write takes effect.
enum class WriteMode { replace, create, append };

// Checkpoint storage. A file is published when its write returned and, for durability, was synced; faults may
// tear or lose it. A name that ends with a slash is a folder, which has no content.
class Storage {
public:
    virtual ~Storage() = default;
    virtual Code write(std::string_view path, std::span<const Number> content,
                       WriteMode mode = WriteMode::replace) = 0;
    virtual Code sync(std::string_view path) = 0;
    virtual Code rename(std::string_view from, std::string_view to) = 0;
    virtual Code remove(std::string_view path) = 0;
    // A writer that forgets to close: one descriptor of the host less each time.
    virtual Code leave_open(std::string_view /*path*/) { return Code::ok; }
    virtual Code read(std::string_view path, std::vector<Number>& content) = 0;
    virtual std::vector<std::string> list(std::string_view prefix) const = 0;  // sorted by name
};

enum class CommLibrary : std::uint8_t { usual, nccl, gloo };  // usual: that of all groups

struct CommRequest {
    std::string name;  // world, dp, tp, pp, ep, …: the same on all members
    Members members;   // ranks as RANK names them, in the communicator's order
    Rank rank = 0;     // the caller's place among them, as it believes: two may claim one place
    Time patience{0};  // how long the caller waits for the others before it gives up; 0 = without end
    Time store_timeout{0};  // how long it waits for rank 0's id in the store; 0 = the cluster's store_timeout
    Time timeout{0};  // of its calls, for the caller's watchdog; 0 = that of all groups
    CommLibrary library = CommLibrary::usual;
    std::uint64_t meeting = 0;  // of the store that its members met at
};

class World {
public:
    virtual ~World() = default;

    virtual Rank process()
        const = 0;  // place in the launch, 0 .. processes()-1: what the launcher knows, not what RANK says
    virtual Rank processes() const = 0;
    virtual int node() const = 0;
    virtual int attempt() const = 0;  // 0 at first, then one more after every restart of the job

    virtual Timer& timer() = 0;
    virtual Env& env() = 0;
    virtual Device& device() = 0;
    virtual Storage& storage() = 0;
    virtual Signals& signals() { throw RankFailure("RuntimeError: here a process handles no signals"); }

    // Connects to the store at `endpoint` ("host:port"); the process whose RANK is 0 hosts it. Throws
    // LibraryError after the time-out.
    virtual Store& rendezvous(std::string_view endpoint, bool host, Time timeout) = 0;
    // A store of the program's own, beside the one that ranks meet at: who hosts it listens in any case.
    virtual Store& own_store(std::string_view endpoint, bool host, Time timeout) {
        return rendezvous(endpoint, host, timeout);
    }
    // A store that is a file of `storage`, for so many ranks; what is in it already is there.
    virtual Store& file_store(std::string_view /*path*/, Rank /*ranks*/) {
        throw RankFailure("RuntimeError: here ranks meet at a host and a port");
    }

    // The process is done with a store that it connected to: whoever meets the others again does not find it.
    virtual void leave_store(Store& /*store*/) {}

    // ncclCommInitRank over a bootstrap root: returns when all members have come, and never otherwise (unless
    // the framework's watchdog ends the process). Members that disagree on names, size or order meet NCCL's
    // measured outcomes.
    virtual std::unique_ptr<Comm> communicator(const CommRequest& request) = 0;

    // Chance that belongs to this rank, this purpose and this index alone; equal on every backend and in
    // every run of a plan.
    virtual std::uint64_t chance(std::string_view purpose, std::uint64_t index, std::uint64_t bound) = 0;

    // Program points that a fault from outside may bend or skip. Without a fault: `value` and `true`.
    // The names are stated in the workload's Kind (seams, blocks).
    virtual std::int64_t seam(std::string_view name, std::int64_t value) = 0;
    virtual bool block(std::string_view name) = 0;

    // What an observer of a real job would see. Emitting is free of side effects on the job.
    virtual void record(const results::Payload& what) = 0;
    virtual results::TextId text(std::string_view words) = 0;
    void log(std::string_view line, int level = 0) { record(results::RankLog{level, text(line)}); }
    virtual void step(
        std::int64_t number) = 0;  // tells the backend which training step begins (triggers hang on it)
    virtual void phase(
        results::Phase phase) = 0;  // ends the phase under way and begins this one; none = ends only
};

}  // namespace deadrank::sim
