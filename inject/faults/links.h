// inject/faults/links.h — Faults of the network: which links the parameter `node` means, and what is done to
// each. One node: its links to all others; two: those between them; more: each one's to all others. `inside`:
// within each node.
#pragma once

#include "inject/core/deed.h"
#include "inject/core/parameters.h"

namespace deadrank::inject {

// node, inside, one_way.
std::vector<scenarios::Parameter> link_parameters(std::vector<scenarios::Parameter> further = {});

// `broken` and `whole` say what changes; the ends are filled in here.
std::unique_ptr<Fault> make_link_fault(const FaultSpec& spec, const LinkChange& broken,
                                       const LinkChange& whole, Rhythm rhythm = {});

}  // namespace deadrank::inject
