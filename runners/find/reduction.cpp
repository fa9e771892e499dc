// runners/find/reduction.cpp — Every plan is played once, whichever way one comes to it.
#include "runners/find/reduction.h"

#include <cstdlib>

#include "scenarios/format/closing.h"
#include "scenarios/format/plan_file.h"

namespace deadrank::runners::find {

using scenarios::Plan;

namespace {

// 1,734,000 → 1,700,000: two digits are enough for a number that somebody is to read.
std::int64_t round_number(std::int64_t number) {
    std::int64_t unit = 1;
    while (std::llabs(number) / unit >= 100) unit *= 10;
    return number / unit * unit;
}

}  // namespace

bool Reduction::fails(const Plan& candidate) {
    if (scenarios::contradiction(candidate)) return false;
    std::string name = scenarios::digest(candidate);
    const auto known = answers_.find(name);
    if (known != answers_.end()) return known->second;
    if (exhausted()) return false;
    ++tries_;
    const bool answer = fails_(candidate);
    answers_.emplace(std::move(name), answer);
    return answer;
}

bool Reduction::take(Plan candidate) {
    if (candidate == plan_ || !fails(candidate)) return false;
    plan_ = std::move(candidate);
    return true;
}

bool Reduction::approach(std::int64_t from, std::int64_t goal,
                         const std::function<void(Plan&, std::int64_t)>& set) {
    const auto lower = [&](std::int64_t number) {
        Plan candidate = plan_;
        set(candidate, number);
        return take(std::move(candidate));
    };
    if (from == goal) return false;
    if (lower(goal)) return true;
    std::int64_t good = from, bad = goal;
    while (std::llabs(good - bad) > std::max<std::int64_t>(1, std::llabs(good) / 8)) {
        const std::int64_t exact = bad + (good - bad) / 2;
        std::int64_t middle = round_number(exact);
        if (middle == good || middle == bad || (middle < good) == (middle < bad)) middle = exact;
        (lower(middle) ? good : bad) = middle;
    }
    return good != from;
}

}  // namespace deadrank::runners::find
