// inject/faults/skip_block.h — A step of the program is not executed on some ranks: the forgotten line, the
// wrong `if`. The workload publishes its names (`blocks`).
#pragma once

#include "inject/core/deed.h"
#include "inject/core/parameters.h"

namespace deadrank::inject {

inline FaultKind skip_block() {
    return {{.name = "skip_block",
             .what = "A named step of the workload is left out.",
             .parameters = {rank_parameter(),
                            {"block", ValueType::text, "", "name of the step, one of the workload's blocks"}},
             .levers = {SkipBlock::lever},
             .at_start = true},
            [](const FaultSpec& spec) {
                const std::string block = spec.text("block");
                return make_deed(spec, {.apply =
                                            [block](Levers& levers, Rank rank) {
                                                return levers.pull(SkipBlock{rank, block, true});
                                            },
                                        .revert =
                                            [block](Levers& levers, Rank rank) {
                                                (void)levers.pull(SkipBlock{rank, block, false});
                                            },
                                        .blame = aimed(spec)});
            }};
}

}  // namespace deadrank::inject
