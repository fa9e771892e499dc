// inject/standin/nccl/standin_faults.h — How a fault of the plan alters a call of the drop-in.
#pragma once

#include <string_view>

#include "inject/core/levers.h"
#include "inject/standin/nccl/group.h"
#include "inject/standin/nccl/standin_communicator.h"

namespace deadrank::inject::standin {

// This communicator's rank is at this call. What hits the whole process is done before this returns; the rest
// is how the call itself is altered.
inject::Alteration apply_fault(std::string_view call, const ncclComm& comm);

// The same for a call that moves no data. It may come late, or never return; what it is made to answer is
// returned, and ncclSuccess means that it goes on.
ncclResult_t apply_fault_without_data(std::string_view call, const ncclComm& comm);

// Changes one call before it goes into its stream. Not ncclSuccess: the call answers with that and nothing is
// enqueued. An answer together with a call that never completes is an asynchronous error: the call is taken,
// and polling tells.
ncclResult_t alter(Planned& planned, const inject::Alteration& alteration);

// `hold`: it waits until the next call of its communicator has gone first.
ncclResult_t issue_in_order(Planned planned, bool hold);

}  // namespace deadrank::inject::standin
