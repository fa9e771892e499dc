// inject/faults/fill_storage.h — The disk is full, or the quota is used up, from this moment on.
#pragma once

#include "inject/deed.h"
#include "inject/parameters.h"

namespace deadrank::inject {

inline FaultKind fill_storage() {
    return {{.name = "fill_storage",
             .what = "Writes find no more space than this.",
             .parameters = {path_parameter(), {"free", ValueType::integer, "0", "elements that still fit"}},
             .levers = {"change_storage"}},
            [](const FaultSpec& spec) {
                const StorageChange change{
                    .path = spec.text("path"), .what = "full", .amount = spec.number("free")};
                StorageChange end = change;
                end.end = true;
                return make_deed(
                    spec, {.apply = [change](Levers& levers, Rank) { return levers.change_storage(change); },
                           .revert = [end](Levers& levers, Rank) { (void)levers.change_storage(end); },
                           .blame = {.component = "storage", .shard = change.path}});
            }};
}

}  // namespace deadrank::inject
