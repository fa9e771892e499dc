// inject/faults/flap_link.h — A link goes down and comes back, a few times in a row: a loose plug, a port
// that trains again and again.
#pragma once

#include "inject/faults/links.h"

namespace deadrank::inject {

inline FaultKind flap_link() {
    return {
        {.name = "flap_link",
         .what = "The link is down for a while, several times.",
         .parameters = link_parameters(
             {{"down", ValueType::duration, "3s", "how long it is down", {}, false, 1},
              {"up", ValueType::duration, "30s", "how long it is up in between", {}, false, 0},
              {"times", ValueType::integer, "2", "how often it goes down", {}, false, 1}}),
         .levers = {ChangeLink::down}},
        [](const FaultSpec& spec) {
            return make_link_fault(
                spec, {.down = true}, {.down = false},
                {.on = duration(spec, "down"), .off = duration(spec, "up"), .times = spec.number("times")});
        }};
}

}  // namespace deadrank::inject
