// inject/faults/corrupt_checkpoint.h — A file that was written well reads back otherwise: a bad disk, a copy
// that stopped half-way.
#pragma once

#include "inject/deed.h"
#include "inject/parameters.h"

namespace deadrank::inject {

inline FaultKind corrupt_checkpoint() {
    return {
        {.name = "corrupt_checkpoint",
         .what = "A stored file is changed behind the job's back.",
         .parameters = {path_parameter(),
                        {"how",
                         ValueType::choice,
                         "flip",
                         "one bit flipped, cut short, exchanged with another file, or gone",
                         {"flip", "truncate", "swap", "delete"}},
                        {"at", ValueType::integer, "0", "flip: element × 64 + bit; truncate: elements kept"}},
         .levers = {"change_storage"}},
        [](const FaultSpec& spec) {
            const StorageChange change{
                .path = spec.text("path"), .what = spec.text("how"), .amount = spec.number("at")};
            return make_deed(
                spec, {.apply = [change](Levers& levers, Rank) { return levers.change_storage(change); },
                       .blame = {.component = "storage", .shard = change.path}});
        }};
}

}  // namespace deadrank::inject
