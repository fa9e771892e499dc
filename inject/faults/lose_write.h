// inject/faults/lose_write.h — A write is acknowledged and never reaches the disk: a cache that lost its
// power.
#pragma once

#include "inject/deed.h"
#include "inject/parameters.h"

namespace deadrank::inject {

inline FaultKind lose_write() {
    return {{.name = "lose_write",
             .what = "The next write of the file is lost and says that all is well.",
             .parameters = {path_parameter()},
             .levers = {"change_storage"}},
            [](const FaultSpec& spec) {
                const StorageChange change{.path = spec.text("path"), .what = "lose", .amount = 0};
                return make_deed(
                    spec, {.apply = [change](Levers& levers, Rank) { return levers.change_storage(change); },
                           .blame = {.component = "storage", .shard = change.path}});
            }};
}

}  // namespace deadrank::inject
