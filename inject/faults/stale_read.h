// inject/faults/stale_read.h — Readers see what was there before: the cache of a network file system.
#pragma once

#include "inject/deed.h"
#include "inject/parameters.h"

namespace deadrank::inject {

inline FaultKind stale_read() {
    return {{.name = "stale_read",
             .what = "Reads answer the content before the last write.",
             .parameters = {path_parameter()},
             .levers = {"change_storage"}},
            [](const FaultSpec& spec) {
                const StorageChange change{.path = spec.text("path"), .what = "stale", .amount = 0};
                StorageChange end = change;
                end.end = true;
                return make_deed(
                    spec, {.apply = [change](Levers& levers, Rank) { return levers.change_storage(change); },
                           .revert = [end](Levers& levers, Rank) { (void)levers.change_storage(end); },
                           .blame = {.component = "storage", .shard = change.path}});
            }};
}

}  // namespace deadrank::inject
