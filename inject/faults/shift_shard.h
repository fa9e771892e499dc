// inject/faults/shift_shard.h — A rank believes that its shard begins elsewhere: an off-by-one in the
// partition, a rank counted from one.
#pragma once

#include "inject/core/deed.h"
#include "inject/core/parameters.h"

namespace deadrank::inject {

inline FaultKind shift_shard() {
    return {{.name = "shift_shard",
             .what = "The rank's shard begins some elements further on.",
             .parameters = {rank_parameter(),
                            {"by", ValueType::integer, "1", "elements further on (or back, when negative)"}},
             .levers = {BendValue::lever},
             .at_start = true},
            [](const FaultSpec& spec) {
                return make_deed(spec,
                                 {.apply =
                                      [by = spec.number("by")](Levers& levers, Rank rank) {
                                          return levers.pull(BendValue{rank, "shard.offset", {.add = by}});
                                      },
                                  .revert =
                                      [](Levers& levers, Rank rank) {
                                          (void)levers.pull(Unbend{rank, "shard.offset"});
                                      },
                                  .blame = aimed(spec)});
            }};
}

}  // namespace deadrank::inject
