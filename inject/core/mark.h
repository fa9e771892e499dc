// inject/core/mark.h — What the truth keeps of a fault: that it was applied, taken back or refused, and who
// is really to blame.
#pragma once

#include "inject/core/moment.h"
#include "inject/core/occasion.h"
#include "results/record/truth.h"

namespace deadrank::inject {

// `rank`: whose occasion it was; no_rank = all of the fault's ranks at once. `fault` is the index in the
// plan.
results::Mark applied_mark(std::size_t fault, const PlannedFault& planned, Rank rank, const Moment& moment,
                           const Levers& levers);
results::Mark reverted_mark(std::size_t fault, const PlannedFault& planned, Rank rank, Time now);
results::Mark refused_mark(std::size_t fault, const PlannedFault& planned, Rank rank, const Moment& moment,
                           const scenarios::Error& error);

// At the end of a run: of a fault whose moment never came, and of one that changed what nothing asked for.
results::Mark missed_mark(std::size_t fault, const PlannedFault& planned, const Occasion* nearest, Time now);
results::Mark unread_mark(std::size_t fault, const PlannedFault& planned, const Occasion& occasion, Time now);

}  // namespace deadrank::inject
