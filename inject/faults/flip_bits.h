// inject/faults/flip_bits.h — A bit flips in what a rank sends or receives, or on the way from it to a peer:
// silent corruption, which no checksum on the wire sees.
#pragma once

#include "inject/core/deed.h"
#include "inject/core/parameters.h"

namespace deadrank::inject {

inline FaultKind flip_bits() {
    return {{.name = "flip_bits",
             .what = "One bit of the call's payload is flipped.",
             .parameters = {rank_parameter(),
                            {"bit", ValueType::integer, "40", "element × 64 + bit", {}, false, 0},
                            {"side",
                             ValueType::choice,
                             "sent",
                             "in what the rank contributes, in what it gets, or in the bytes on the way to a "
                             "peer, below the library",
                             {"sent", "received", "way"}}},
             .levers = {AlterCall::flip}},
            [](const FaultSpec& spec) {
                return make_alteration(spec, {.flip_bit = spec.number("bit"),
                                              .flip_received = spec.text("side") == "received",
                                              .flip_on_the_way = spec.text("side") == "way"});
            },
            "collective"};
}

}  // namespace deadrank::inject
