// inject/faults/slow_storage.h — The file system is busy: everybody waits for the checkpoint or for the data.
#pragma once

#include "inject/faults/machines.h"

namespace deadrank::inject {

inline FaultKind slow_storage() {
    return {{.name = "slow_storage",
             .what = "Reads and writes take longer.",
             .parameters = {path_parameter(),
                            {"factor", ValueType::factor, "10x", "how many times as long", {}, false, 1}},
             .levers = {ChangeStorage::lever}},
            [](const FaultSpec& spec) {
                return make_storage_fault(spec, StorageTrouble::slow, spec.number("factor"),
                                          StorageFault::lasts);
            }};
}

}  // namespace deadrank::inject
