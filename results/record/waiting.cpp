// results/record/waiting.cpp — From the last look before to the first look after: rather too much than too
// little.
#include "results/record/waiting.h"

#include <algorithm>

namespace deadrank::results {

Time waited_between(const Waiting& waiting, Time begin, Time end) {
    if (waiting.empty()) return Time(0);
    const auto after = waiting.upper_bound(begin);
    const Time before = after == waiting.begin() ? Time(0) : std::prev(after)->second;
    const auto last = waiting.lower_bound(end);
    const Time until = last == waiting.end() ? waiting.rbegin()->second : last->second;
    return std::max(Time(0), until - before);
}

}  // namespace deadrank::results
