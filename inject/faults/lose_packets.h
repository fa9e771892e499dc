// inject/faults/lose_packets.h — A link loses a share of its messages and sends them again: dirty optics, a
// full switch buffer.
#pragma once

#include "inject/faults/links.h"

namespace deadrank::inject {

inline FaultKind lose_packets() {
    return {
        {.name = "lose_packets",
         .what = "The link loses a share of its messages.",
         .parameters = link_parameters({{"share", ValueType::ratio, "1%", "how many of them", {}, false, 0}}),
         .levers = {ChangeLink::loss}},
        [](const FaultSpec& spec) {
            return make_link_fault(spec, {.loss_ppb = spec.number("share")}, {.loss_ppb = 0});
        }};
}

}  // namespace deadrank::inject
