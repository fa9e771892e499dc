// runners/line/compare.cpp — Compares events as they are written, so that a difference can be shown as it is
// read.
#include "runners/line/compare.h"

#include <algorithm>
#include <fmt/format.h>

namespace deadrank::runners {

std::string first_difference(const results::Evidence& then, const results::Evidence& now) {
    const auto line = [](const results::Evidence& evidence, std::size_t index) {
        return index < evidence.events().size() ? results::to_json_line(evidence, evidence.events()[index])
                                                : std::string("nothing more");
    };
    const std::size_t longest = std::max(then.events().size(), now.events().size());
    for (std::size_t index = 0; index < longest; ++index) {
        const std::string before = line(then, index);
        const std::string after = line(now, index);
        if (before != after)
            return fmt::format("event {} differs: {} then, {} now", index + 1, before, after);
    }
    if (then.observed_until() == now.observed_until()) return {};
    return fmt::format("all events agree, but it was watched until {} ns then, {} ns now",
                       then.observed_until().count(), now.observed_until().count());
}

}  // namespace deadrank::runners
