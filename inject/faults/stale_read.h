// inject/faults/stale_read.h — Readers see what was there before: the cache of a network file system.
#pragma once

#include "inject/faults/machines.h"

namespace deadrank::inject {

inline FaultKind stale_read() {
    return {{.name = "stale_read",
             .what = "Reads answer the content before the last write.",
             .parameters = {path_parameter()},
             .levers = {ChangeStorage::lever}},
            [](const FaultSpec& spec) {
                return make_storage_fault(spec, StorageTrouble::stale, 0, StorageFault::lasts);
            }};
}

}  // namespace deadrank::inject
