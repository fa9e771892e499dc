// inject/faults/exit_rank.h — A rank's own code raises and leaves: a traceback in its log, an exit code, and
// peers that were not told.
#pragma once

#include "inject/core/deed.h"
#include "inject/core/parameters.h"

namespace deadrank::inject {

inline FaultKind exit_rank() {
    return {{.name = "exit_rank",
             .what = "The rank raises an exception and exits with a code.",
             .parameters = {rank_parameter(),
                            {"code", ValueType::integer, "1", "exit code of the process", {}, false, 0},
                            {"says", ValueType::text, "RuntimeError: unexpected state",
                             "the last line of its traceback"}},
             .levers = {Exit::lever}},
            [](const FaultSpec& spec) {
                const int code = static_cast<int>(spec.number("code"));
                const std::string says = spec.text("says");
                return make_deed(spec, {.apply =
                                            [code, says](Levers& levers, Rank rank) {
                                                return levers.pull(Exit{rank, code, says});
                                            },
                                        .blame = aimed(spec)});
            },
            "step"};
}

}  // namespace deadrank::inject
