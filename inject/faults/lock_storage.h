// inject/faults/lock_storage.h — The file system was mounted read-only after an error.
#pragma once

#include "inject/deed.h"
#include "inject/parameters.h"

namespace deadrank::inject {

inline FaultKind lock_storage() {
    return {{.name = "lock_storage",
             .what = "Writes are refused.",
             .parameters = {path_parameter()},
             .levers = {"change_storage"}},
            [](const FaultSpec& spec) {
                const StorageChange change{.path = spec.text("path"), .what = "read_only", .amount = 0};
                StorageChange end = change;
                end.end = true;
                return make_deed(
                    spec, {.apply = [change](Levers& levers, Rank) { return levers.change_storage(change); },
                           .revert = [end](Levers& levers, Rank) { (void)levers.change_storage(end); },
                           .blame = {.component = "storage", .shard = change.path}});
            }};
}

}  // namespace deadrank::inject
