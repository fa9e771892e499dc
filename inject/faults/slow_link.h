// inject/faults/slow_link.h — A link is slower than it should be: a bad cable, a lane that fell out,
// congestion by others.
#pragma once

#include <algorithm>

#include "inject/faults/links.h"

namespace deadrank::inject {

inline FaultKind slow_link() {
    return {{.name = "slow_link",
             .what = "The link has less bandwidth, or more latency.",
             .parameters = link_parameters(
                 {{"factor", ValueType::factor, "10x", "how many times less bandwidth", {}, false, 1},
                  {"latency", ValueType::duration, "0s", "added to every message", {}, false, 0}}),
             .levers = {ChangeLink::slow}},
            [](const FaultSpec& spec) {
                const std::int64_t permille = 1'000'000 / std::max<std::int64_t>(1, spec.number("factor"));
                return make_link_fault(spec,
                                       {.bandwidth_permille = std::max<std::int64_t>(1, permille),
                                        .extra_latency = duration(spec, "latency")},
                                       {.bandwidth_permille = 1000, .extra_latency = Time(0)});
            }};
}

}  // namespace deadrank::inject
