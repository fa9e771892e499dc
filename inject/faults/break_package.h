// inject/faults/break_package.h — A package cannot be built, found or imported on some ranks, or another one
// is found first.
#pragma once

#include "inject/core/deed.h"
#include "inject/core/parameters.h"

namespace deadrank::inject {

inline FaultKind break_package() {
    return {{.name = "break_package",
             .what = "A package fails when the rank builds or loads it.",
             .parameters = {rank_parameter(),
                            {"package", ValueType::text, "", "nccl, torch, cuda, …"},
                            {"problem",
                             ValueType::choice,
                             "not_installed",
                             "what is wrong with it",
                             {"not_installed", "missing_symbol", "wrong_found_first", "abi_skew",
                              "missing_header", "missing_compiler"}}},
             .levers = {BreakPackage::lever},
             .at_start = true},
            [](const FaultSpec& spec) {
                const std::string package = spec.text("package");
                const std::string problem = spec.text("problem");
                return make_deed(spec, {.apply =
                                            [package, problem](Levers& levers, Rank rank) {
                                                return levers.pull(BreakPackage{rank, package, problem});
                                            },
                                        .blame = aimed(spec, {.component = package})});
            }};
}

}  // namespace deadrank::inject
