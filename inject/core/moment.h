// inject/core/moment.h — Where a rank is, in words that every backend has.
// Backends report one for each call, phase and step of an armed rank, before it happens.
#pragma once

#include <cstdint>
#include <string_view>

#include "results/record/codes.h"
#include "results/record/time.h"

namespace deadrank::inject {

struct Moment {
    results::Rank rank = results::no_rank;
    results::Time now{0};
    std::int64_t step = -1;
    results::Phase phase = results::Phase::none;
    std::string_view
        call;  // "all_reduce", "send", "comm_init", "checkpoint_save", seam or block name, "step", "phase"
    std::string_view comm = {};
};

}  // namespace deadrank::inject
