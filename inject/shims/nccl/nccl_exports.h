// inject/shims/nccl/nccl_exports.h — The functions that a program calls instead of NCCL's own.
#pragma once

#include "inject/shims/nccl/nccl_interposer.h"

namespace deadrank::inject::shims {

template <class... Arguments>
int passed(Function which, CommHandle comm, Arguments... arguments) {
    auto* const function = real<int(Arguments...)>(which);
    if (!function) return missing(which);
    if (!awake() || Inside::now()) return function(arguments...);
    if (const auto answer = Interposer::here().other(which, comm)) return *answer;
    const Inside guard;
    return function(arguments...);
}

// A function that returns no result code is not altered.
template <class Answer, class... Arguments>
Answer untouched(Function which, Arguments... arguments) {
    auto* const function = real<Answer(Arguments...)>(which);
    if (function) return function(arguments...);
    missing(which);
    return Answer();
}

// A collective's path when nothing is watched: no more than a check and a jump.
template <class... Arguments>
int straight(Function which, Arguments... arguments) {
    auto* const function = real<int(Arguments...)>(which);
    return function ? function(arguments...) : missing(which);
}

inline int collective(const Collective& call) { return Interposer::here().collective(call); }

}  // namespace deadrank::inject::shims
