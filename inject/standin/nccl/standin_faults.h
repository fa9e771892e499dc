// inject/standin/nccl/standin_faults.h — The faults that the drop-in plays, and how they alter a call.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "inject/standin/nccl/group.h"
#include "inject/standin/nccl/standin_communicator.h"

namespace deadrank::standin {

// The plan's faults of the ranks in this process, in the words of the plan file (DEADRANK_PLAN). Each waits
// for its moment among the calls of this library; steps and phases are not seen here.

// How one call is altered.
struct Alteration {
    bool skip = false, hold = false, never_completes = false, flip_received = false;
    std::int64_t delay = 0, count_set = -1, count_change = 0, flip_bit = -1;
    int root = -1;
    std::string dtype = "none", op = "none", reduce = "none", answer = "ok";
};

class Faults {
public:
    static Faults& of_this_process();

    // This communicator's rank is at this call. Written first, then done: a rank that is killed by its own
    // fault says nothing afterwards. Alterations of the call go to `into`.
    void at(const std::string& call, const ncclComm& comm, Alteration& into);

    // The same for a call that moves no data. It may come late, or never return; what it is made to answer is
    // returned, and ncclSuccess means that it goes on.
    ncclResult_t around(const std::string& call, const ncclComm& comm);

private:
    struct Pull {
        std::string lever;
        int signal = 9, code = 1;
        Alteration alteration;
    };
    struct Armed {
        int fault = 0;
        std::vector<int> ranks;
        std::string before, comm, says, refusal;
        std::int64_t at = -1, lasts = -1;
        int nth = 1;
        bool always = false;
        std::vector<Pull> pulls;
        std::vector<int> seen, fired;  // by place in `ranks`
    };

    Faults();
    void read(const std::string& path);
    bool due(Armed& armed, std::size_t place, const std::string& call, const ncclComm& comm) const;
    void pull(const Armed& armed, const std::string& call, int slot, Alteration& into);

    std::mutex mutex_;
    std::vector<Armed> armed_;
    std::int64_t started_ = 0;
};

// How a fault of the plan changes one call before it goes into its stream.

// Not ncclSuccess: the call answers with that and nothing is enqueued. An answer together with a call that
// never completes is an asynchronous error: the call is taken, and polling tells.
ncclResult_t alter(Planned& planned, const Alteration& alteration);

// `hold`: it waits until the next call of its communicator has gone first.
ncclResult_t issue_in_order(Planned planned, bool hold);

}  // namespace deadrank::standin
