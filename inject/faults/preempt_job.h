// inject/faults/preempt_job.h — The scheduler wants the machines back: everybody is asked to end, whatever
// they were doing.
#pragma once

#include "inject/core/deed.h"
#include "inject/core/parameters.h"

namespace deadrank::inject {

inline FaultKind preempt_job() {
    return {{.name = "preempt_job",
             .what = "The scheduler ends the whole job.",
             .parameters = {{"reason", ValueType::text, "preempted by a job of higher priority",
                             "what the scheduler says"}},
             .levers = {Preempt::lever}},
            [](const FaultSpec& spec) {
                return make_deed(spec,
                                 {.apply = [reason = spec.text("reason")](
                                               Levers& levers, Rank) { return levers.pull(Preempt{reason}); },
                                  .blame = {.component = "scheduler"}});
            }};
}

}  // namespace deadrank::inject
