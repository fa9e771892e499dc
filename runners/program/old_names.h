// runners/program/old_names.h — Names that commands had before they became verbs. They answer for one
// release.
#pragma once

#include <span>
#include <string_view>

namespace deadrank::runners {

struct OldName {
    std::string_view old, now;  // "swarm", "sweep swarm"
};

std::span<const OldName> old_names();

}  // namespace deadrank::runners
