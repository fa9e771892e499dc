// inject/faults/slow_storage.h — The file system is busy: everybody waits for the checkpoint or for the data.
#pragma once

#include "inject/deed.h"
#include "inject/parameters.h"

namespace deadrank::inject {

inline FaultKind slow_storage() {
    return {{.name = "slow_storage",
             .what = "Reads and writes take longer.",
             .parameters = {path_parameter(), {"factor", ValueType::factor, "10x", "how many times as long"}},
             .levers = {"change_storage"}},
            [](const FaultSpec& spec) {
                const StorageChange change{
                    .path = spec.text("path"), .what = "slow", .amount = spec.number("factor")};
                StorageChange end = change;
                end.end = true;
                return make_deed(
                    spec, {.apply = [change](Levers& levers, Rank) { return levers.change_storage(change); },
                           .revert = [end](Levers& levers, Rank) { (void)levers.change_storage(end); },
                           .blame = {.component = "storage", .shard = change.path}});
            }};
}

}  // namespace deadrank::inject
