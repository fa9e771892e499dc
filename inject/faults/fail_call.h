// inject/faults/fail_call.h — A call answers an error instead of doing its work, on one rank only: of the
// library, the store or the disk.
#pragma once

#include "inject/core/deed.h"
#include "inject/core/parameters.h"

namespace deadrank::inject {

inline FaultKind fail_call() {
    return {{.name = "fail_call",
             .what = "The call is not made and answers an error.",
             .parameters = {rank_parameter(),
                            {"answer",
                             ValueType::choice,
                             "system_error",
                             "what it answers",
                             {"unhandled_device_error", "system_error", "internal_error", "invalid_argument",
                              "invalid_usage", "remote_error", "timeout", "aborted", "not_found", "corrupt",
                              "no_space"}}},
             .levers = {AlterCall::answer}},
            [](const FaultSpec& spec) {
                return make_alteration(spec, {.answer = results::code_named(spec.text("answer"))});
            },
            "communication"};
}

}  // namespace deadrank::inject
