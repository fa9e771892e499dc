// inject/faults/lock_storage.h — The file system was mounted read-only after an error.
#pragma once

#include "inject/faults/machines.h"

namespace deadrank::inject {

inline FaultKind lock_storage() {
    return {{.name = "lock_storage",
             .what = "Writes are refused.",
             .parameters = {path_parameter()},
             .levers = {ChangeStorage::lever}},
            [](const FaultSpec& spec) {
                return make_storage_fault(spec, StorageTrouble::read_only, 0, StorageFault::lasts);
            }};
}

}  // namespace deadrank::inject
