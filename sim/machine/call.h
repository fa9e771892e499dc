// sim/machine/call.h — A point at which a rank's calls can be altered from outside, what may be altered
// there, and the gate before each call of an armed process.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "results/record/changes.h"
#include "results/record/codes.h"
#include "results/record/time.h"
#include "sim/machine/processes.h"

namespace deadrank::sim {

// ── A point at which a rank's calls can be altered from outside, and what may be altered there. The cluster
// asks its Interceptor only for ranks that are armed, so an undisturbed run pays one branch.

enum class CallKind : std::uint8_t {
    collective,
    send,
    recv,
    comm_init,
    store,
    storage_write,
    storage_read,
    compute,
    allocate,
    step,
    phase,
    seam,
    block,
};

// Filled in by the cluster; the lower half is what an interceptor may change before the call goes on.
struct Call {
    CallKind kind = CallKind::collective;
    results::Rank rank = 0;  // process in the launch
    std::string_view name =
        {};  // "all_reduce", "comm_init", "checkpoint_save", a seam or block, a storage path
    std::string_view comm = {};  // name of the communicator; empty where there is none
    std::int64_t seq = 0;
    std::int64_t step = -1;  // training step under way; -1 before the first
    results::Phase phase = results::Phase::none;
    results::Time now{0};

    std::int64_t count = 0;  // elements, bytes, or the value of a seam: may be changed
    results::Dtype dtype = results::Dtype::none;
    results::Op op = results::Op::none;
    results::ReduceOp reduce = results::ReduceOp::none;
    std::int32_t root = -1;  // root or peer
    results::Time delay{0};  // waits that long first
    bool skip = false;       // the call returns at once, as if it had been made
    bool hold = false;       // exchanged with this rank's next call of the same kind on the same communicator
    int kill_signal = 0;     // the rank is gone before the call
    bool stop = false;       // SIGSTOP before the call
    results::Code answer = results::Code::ok;  // other than ok: the call is not made and answers this
    std::int64_t flip_bit =
        -1;  // bit of the payload (element × 64 + bit) to be flipped, of what this rank contributes
    bool flip_received = false;    // flip what this rank receives instead
    bool never_completes = false;  // enqueued, but its kernel hangs: peers wait with it
    std::string_view raises = {};  // the program refuses the value of this seam in these words
};

// The words of a trigger's `before`: a checkpoint's file is named by its path, so the call is named by what
// it does.
std::string_view call_name(const Call& call);

// Applies every member of the alteration that is set. A count does not fall below 0.
void alter(Call& call, const results::Alteration& how);

// A setting passes its checks under this name and its own, before anything else is done.
inline constexpr std::string_view setting_seam = "setting.";

// What one rank's seams and blocks answer while faults bend or skip them.
struct BentPoints {
    std::map<std::string, results::Bend, std::less<>> seams;
    std::set<std::string, std::less<>> left_out;  // blocks
    std::set<std::string, std::less<>> asked;     // of both, what the program came to

    std::map<std::string, results::ValueCheck, std::less<>> checks;  // of seams and settings
    std::map<std::string, std::int64_t, std::less<>> settings;       // that a check may compare with
    std::string refusal;

    void skip(std::string_view block, bool yes);
    void shape(Call& call);  // bends the value of a seam, checks it, leaves out a block

private:
    void check(Call& call);
};

class Interceptor {
public:
    virtual ~Interceptor() = default;
    virtual void before(Call& call) = 0;
    virtual void replaced(int) {}  // a spare has taken the place of this node
};

struct Machine;

// Before each call of an armed process an interceptor may look at it and alter it. Others pay one branch.
class Gate {
public:
    explicit Gate(Machine& machine) : machine_(machine) {}

    void intercept(Interceptor* interceptor) { interceptor_ = interceptor; }
    void replaced(int node) {
        if (interceptor_) interceptor_->replaced(node);
    }

    // Asks, then waits, stops, kills or raises as the answer says. The caller acts on what is left in `call`.
    // Must run on the process's own fiber.
    void pass(Process& process, Call& call) {
        if (process.armed && interceptor_) intercept_call(process, call);
    }

    // Answers that all callers treat alike. True: the call is to be skipped.
    // Throws LibraryError for `answer`, and never comes back from `never_completes`.
    bool plain(Process& process, Call& call);

private:
    void intercept_call(Process& process, Call& call);

    Machine& machine_;
    Interceptor* interceptor_ = nullptr;
};

}  // namespace deadrank::sim
