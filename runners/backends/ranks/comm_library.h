// runners/backends/ranks/comm_library.h — The communication library as ranks use it, and the creation of a
// communicator by name.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "runners/backends/ranks/gate.h"
#include "runners/backends/ranks/meeting_place.h"
#include "sim/world/comm.h"
#include "sim/world/world.h"

namespace deadrank::runners {

// ── A library that sends real messages, as ranks see it: it makes communicators, takes calls without
// blocking, and reports errors in its own words.

struct RealCall {
    results::Op op = results::Op::none;
    const sim::Number* in = nullptr;
    sim::Number* out = nullptr;
    std::int64_t in_size = 0, out_size = 0;
    std::int64_t count = 0;  // elements, as NCCL counts them for this operation
    std::int32_t root = -1;  // or the peer
    std::int32_t tag = 0;
    results::Dtype dtype = results::Dtype::f32, declared = results::Dtype::f32;  // as called, as meant
    results::ReduceOp reduce = results::ReduceOp::sum;
    std::int64_t flip_bit = -1;
    bool flip_received = false;
};

// How many elements a call reads and writes on each of `size` ranks.
struct Extent {
    std::int64_t in = 0, out = 0;
};
Extent extent_of(const RealCall& call, std::int64_t size);
bool has_root(results::Op op);  // or a peer

// A call in progress. It outlives its caller: the library may still read and write its buffers.
class Operation {
public:
    virtual ~Operation() = default;
    virtual bool done() = 0;                 // asks the library; once true, the caller's buffers are filled
    virtual results::Code code() const = 0;  // other than ok: it failed, and is done
    virtual std::string error_text() const = 0;
};

// This rank's end of one communicator.
class Wire {
public:
    virtual ~Wire() = default;
    virtual std::shared_ptr<Operation> begin(const RealCall& call) = 0;
    // A call that is accepted and never ends. nullptr: the library is not called at all.
    virtual std::shared_ptr<Operation> begin_stuck(const RealCall&) { return nullptr; }
    virtual void group_start() {}
    virtual void group_end() {}
    virtual results::Code async_error() { return results::Code::ok; }  // only when polled
    virtual std::string error_text() const { return {}; }              // of that error
    virtual void abort() {}
};

// What all communicators of a rank share.
struct RealRank {
    Gate& gate;
    Trail& evidence;
    bool watchdog = true;
    results::Time collective_timeout{0};
};

// A rank that is joining a communicator.
struct Joining {
    results::CommId id = 0;
    results::Rank process = 0, place = 0, size = 0;
    results::Time store_timeout{0};
    MeetingPlace here;  // of this communicator alone
};

struct Opening {
    std::map<std::string, std::string> environment;                // as the plan has it
    std::map<std::string, std::string, std::less<>> claimed = {};  // versions that this rank claims
    int node = 0;
    std::int64_t ranks_per_node = 1;
};

class CommLibrary {
public:
    virtual ~CommLibrary() = default;
    virtual std::string_view name() const = 0;                                       // MPI, NCCL
    virtual scenarios::Result<void> open(const Opening& /*opening*/) { return {}; }  // once, before all else
    // Returns when all members have come. Throws sim::LibraryError, after recording the evidence.
    virtual std::unique_ptr<Wire> join(RealRank& rank, const Joining& joining) = 0;
    virtual std::string exception(results::Code code, const std::string& text) const = 0;
    // The error for a wrong root; nullopt if the library itself detects it.
    virtual std::optional<std::string> wrong_root(std::int32_t root, std::int32_t size) const = 0;
    virtual std::string no_communicator() const = 0;
    // Leaves this much of the device's memory free and occupies the rest; -1 frees that again.
    virtual void leave_free(std::int64_t /*bytes*/) {}
    // Of a package; nullopt if the plan's version counts.
    virtual std::optional<std::string> version(std::string_view /*package*/) const { return std::nullopt; }
};

// Records that a communicator cannot be made, then throws.
[[noreturn]] void fail_to_join(RealRank& rank, const CommLibrary& library, results::CommId id,
                               results::Code code, const std::string& text);
// As c10d without a unique id: throws if `there` is not true in time.
void wait_for_first(RealRank& rank, const Joining& joining, const std::function<bool()>& there);

// ── A communicator by name: its members find its number at the meeting place, then the library makes it. A
// member that never comes is waited for without end, as in NCCL's bootstrap.

struct Joiner {
    results::Rank process = 0;
    int nth = 0;  // how often it has asked for that name before
    results::Time store_timeout{0};
};

std::unique_ptr<sim::Comm> join_communicator(RealRank& rank, CommLibrary& library, const MeetingPlace& place,
                                             const Joiner& joiner, const sim::CommRequest& request);

}  // namespace deadrank::runners
