// inject/faults/drop_link.h — A link is down: a cable, a port, a card. Cut silently, or with its connections
// broken so that both ends know.
#pragma once

#include "inject/faults/links.h"

namespace deadrank::inject {

inline FaultKind drop_link() {
    return {{.name = "drop_link",
             .what = "The link carries nothing any more.",
             .parameters = link_parameters({{"how",
                                             ValueType::choice,
                                             "silent",
                                             "nobody is told, or connections break at once",
                                             {"silent", "reset"}}}),
             .levers = {ChangeLink::down}},
            [](const FaultSpec& spec) {
                return make_link_fault(spec, {.down = true, .reset = spec.text("how") == "reset"},
                                       {.down = false});
            }};
}

}  // namespace deadrank::inject
