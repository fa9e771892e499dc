// inject/core/trigger.h — When a fault begins: a moment where a rank is, and the `when` that
// it must fit.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "results/record/codes.h"
#include "results/record/time.h"
#include "scenarios/model/plan.h"

namespace deadrank::inject {

// Where a rank is, in words that every backend has. Backends report one for each call, phase and step of an
// armed rank, before it happens.
struct Moment {
    results::Rank rank = results::no_rank;
    results::Time now{0};
    std::int64_t step = -1;
    results::Phase phase = results::Phase::none;
    std::string_view
        call;  // "all_reduce", "send", "comm_init", "checkpoint_save", seam or block name, "step", "phase"
    std::string_view comm = {};
};

// Does a moment fit the `when` of a fault? Pure: the occasion counts and remembers. A step alone fits its
// beginning, a phase alone fits its beginning, a call fits itself.
// `before` may name a call ("all_reduce"), or a family: "collective", "message" (send and recv),
// "communication" (both).
bool is_call(std::string_view call, std::string_view before);

// Acts at a point in time, wherever its rank is then.
bool by_clock(const scenarios::Trigger& when);

// Acts before the job starts: `when` says so, or says nothing at all.
bool from_start(const scenarios::Trigger& when);

// `nth` apart. With `always`, a step is the first of several; `until_step` is the last.
bool fits(const scenarios::Trigger& when, const Moment& moment);

// Two of its conditions: the step, and the call that stands for the place where none is named.
bool fits_step(const scenarios::Trigger& when, std::int64_t step);
std::string_view implied_call(const scenarios::Trigger& when);

// The rank has passed the last step: a fault that is active must end.
bool over(const scenarios::Trigger& when, const Moment& moment);

}  // namespace deadrank::inject
