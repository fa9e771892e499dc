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

}  // namespace deadrank::inject
