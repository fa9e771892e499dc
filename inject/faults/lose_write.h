// inject/faults/lose_write.h — A write is acknowledged and never reaches the disk: a cache that lost its
// power.
#pragma once

#include "inject/faults/machines.h"

namespace deadrank::inject {

inline FaultKind lose_write() {
    return {{.name = "lose_write",
             .what = "The next write of the file is lost and says that all is well.",
             .parameters = {path_parameter()},
             .levers = {ChangeStorage::lever}},
            [](const FaultSpec& spec) {
                return make_storage_fault(spec, StorageTrouble::lose, 0, StorageFault::at_once);
            }};
}

}  // namespace deadrank::inject
