// inject/faults/skew_version.h — A rank runs another version of a package than its peers: one image was
// rebuilt, one node was not.
#pragma once

#include "inject/core/deed.h"
#include "inject/core/parameters.h"

namespace deadrank::inject {

inline FaultKind skew_version() {
    return {{.name = "skew_version",
             .what = "A package has another version on these ranks.",
             .parameters = {rank_parameter(),
                            {"package", ValueType::text, "", "nccl, torch, cuda, driver, python, …"},
                            {"version", ValueType::text, "", "the version they see"}},
             .levers = {SetVersion::lever},
             .at_start = true},
            [](const FaultSpec& spec) {
                const std::string package = spec.text("package");
                const std::string version = spec.text("version");
                return make_deed(spec, {.apply =
                                            [package, version](Levers& levers, Rank rank) {
                                                return levers.pull(SetVersion{rank, package, version});
                                            },
                                        .blame = aimed(spec, {.component = package})});
            }};
}

}  // namespace deadrank::inject
