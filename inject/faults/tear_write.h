// inject/faults/tear_write.h — Only the first part of a write reaches the disk: a crash in its middle, a full
// quota.
#pragma once

#include "inject/deed.h"
#include "inject/parameters.h"

namespace deadrank::inject {

inline FaultKind tear_write() {
    return {
        {.name = "tear_write",
         .what = "The next write of the file keeps only its beginning and says that all is well.",
         .parameters = {path_parameter(), {"keeps", ValueType::integer, "1", "elements that reach the disk"}},
         .levers = {"change_storage"}},
        [](const FaultSpec& spec) {
            const StorageChange change{
                .path = spec.text("path"), .what = "tear", .amount = spec.number("keeps")};
            return make_deed(
                spec, {.apply = [change](Levers& levers, Rank) { return levers.change_storage(change); },
                       .blame = {.component = "storage", .shard = change.path}});
        }};
}

}  // namespace deadrank::inject
