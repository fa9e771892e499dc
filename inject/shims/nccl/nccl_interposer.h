// inject/shims/nccl/nccl_interposer.h — Around each NCCL call: it is recorded, altered, passed on.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include "inject/shims/core/session.h"
#include "inject/shims/nccl/nccl_below.h"
#include "inject/shims/nccl/nccl_call.h"

namespace deadrank::inject::shims {

// Between ncclGroupStart and ncclGroupEnd nothing is launched yet; what must follow a launch waits here.
using AfterLaunch = std::function<void(int code)>;
struct Group {
    int depth = 0;
    std::vector<AfterLaunch> waiting;

    static Group& of_thread();
    void after_launch(int code, AfterLaunch then);  // at once outside of a group
    void ended(int code);
};

class Interposer {
public:
    // Lives as long as the process: ranks still call NCCL when destructors have run.
    static Interposer& here();

    int collective(const Collective& asked);

    // Any other call at its moment: delayed, answered, left out. Nothing when it should go on.
    std::optional<int> other(Function which, CommHandle handle);

    // A call that makes a communicator. `make` takes the number of ranks and the caller's rank, which faults
    // alter.
    int open(CommHandle* made, int ranks, int rank, const Config* config,
             const std::function<int(int, int)>& make);

    // A call that makes one out of another, whose size is known only afterwards.
    int derive(CommHandle parent, CommHandle* made, const Config* config, const std::function<int()>& make);

    int polled(CommHandle handle, int code, const int* error);
    void aborted(CommHandle handle);
    void gone(CommHandle handle);
    void forget(CommHandle handle) { communicators_.forget(handle); }
    int version();  // of the rank of this process; 0 = the library's own

private:
    Interposer();

    void greet(RankSession& rank);
    // Delays and waits, then: nothing, or the code to answer with.
    std::optional<int> apply_fault(RankSession& rank, std::uint32_t comm, const Decision& decision);
    int carry_out(Communicator& comm, const Altered& altered, bool never);
    void left(Communicator& comm, const Collective& call, std::int64_t number, int code);
    void issue_held(RankSession& rank);
    void opened(Communicator& comm, CommHandle* made, int code);
    void failed(Communicator& comm, int code);

    struct Held {
        Communicator* comm;
        Collective call;
    };

    Session session_;
    Communicators communicators_;
    Device device_;
    std::mutex guard_;
    std::vector<Held> held_;
};

}  // namespace deadrank::inject::shims
