// inject/faults/tear_write.h — Only the first part of a write reaches the disk: a crash in its middle, a full
// quota.
#pragma once

#include "inject/faults/machines.h"

namespace deadrank::inject {

inline FaultKind tear_write() {
    return {{.name = "tear_write",
             .what = "The next write of the file keeps only its beginning and says that all is well.",
             .parameters = {path_parameter(),
                            {"keeps", ValueType::integer, "1", "elements that reach the disk", {}, false, 0}},
             .levers = {ChangeStorage::lever}},
            [](const FaultSpec& spec) {
                return make_storage_fault(spec, StorageTrouble::tear, spec.number("keeps"),
                                          StorageFault::at_once);
            }};
}

}  // namespace deadrank::inject
