// inject/standin/nccl/alter.h — How a fault of the plan changes one call before it goes into its stream.
#pragma once

#include "inject/standin/nccl/faults.h"
#include "inject/standin/nccl/group.h"

namespace deadrank::standin {

// Not ncclSuccess: the call answers with that and nothing is enqueued. An answer together with a call that
// never completes is an asynchronous error: the call is taken, and polling tells.
ncclResult_t alter(Planned& planned, const Alteration& alteration);

// `hold`: it waits until the next call of its communicator has gone first.
ncclResult_t issue_in_order(Planned planned, bool hold);

}  // namespace deadrank::standin
