// runners/find/knob.h — One number of a plan that is to be varied, by its path, and the range it goes
// through.
#pragma once

#include <functional>
#include <string>

#include "scenarios/model/plan.h"

namespace deadrank::runners::find {

struct Knob {
    std::string path;  // "slow_rank.factor", "kill_rank.ranks", "workload.layers"
    scenarios::ValueType type = scenarios::ValueType::integer;
    std::function<void(scenarios::Plan&, std::int64_t)> turn;

    std::string text(std::int64_t magnitude) const;  // with its unit
    std::int64_t finest() const;                     // the step below which nobody would say it
};

// FAULT.PARAMETER, FAULT.lasts, FAULT.step or FAULT.ranks (how many it touches), where FAULT is a kind or a
// number from 1; workload.NAME; cluster.NAME. Errors: usage, for a path that means no number of this plan.
scenarios::Result<Knob> find_knob(const std::string& path, const scenarios::Plan& plan,
                                  const scenarios::Vocabulary& words);

bool is_number(scenarios::ValueType type);  // one that can be varied by and by

struct Range {
    std::int64_t low = 0, high = 0;
};

// "1x..4x", in the knob's own units. Errors: usage.
scenarios::Result<Range> parse_range(const std::string& text, scenarios::ValueType type);

}  // namespace deadrank::runners::find
