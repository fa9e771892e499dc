// inject/faults/fill_storage.h — The disk is full, or the quota is used up, from this moment on.
#pragma once

#include "inject/faults/machines.h"

namespace deadrank::inject {

inline FaultKind fill_storage() {
    return {{.name = "fill_storage",
             .what = "Writes find no more space than this.",
             .parameters = {path_parameter(),
                            {"free", ValueType::integer, "0", "elements that still fit", {}, false, 0}},
             .levers = {ChangeStorage::lever}},
            [](const FaultSpec& spec) {
                return make_storage_fault(spec, StorageTrouble::full, spec.number("free"),
                                          StorageFault::lasts);
            }};
}

}  // namespace deadrank::inject
