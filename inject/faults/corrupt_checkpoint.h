// inject/faults/corrupt_checkpoint.h — A file that was written well reads back otherwise: a bad disk, a copy
// that stopped half-way.
#pragma once

#include "inject/faults/machines.h"

namespace deadrank::inject {

inline FaultKind corrupt_checkpoint() {
    return {{.name = "corrupt_checkpoint",
             .what = "A stored file is changed behind the job's back.",
             .parameters = {path_parameter(),
                            {"how",
                             ValueType::choice,
                             "flip",
                             "one bit flipped, cut short, exchanged with another file, or gone",
                             {"flip", "truncate", "swap", "delete"}},
                            {"at",
                             ValueType::integer,
                             "0",
                             "flip: element × 64 + bit; truncate: elements kept",
                             {},
                             false,
                             0}},
             .levers = {ChangeStorage::lever}},
            [](const FaultSpec& spec) {
                return make_storage_fault(spec, results::storage_trouble_named(spec.text("how")),
                                          spec.number("at"), StorageFault::at_once);
            }};
}

}  // namespace deadrank::inject
