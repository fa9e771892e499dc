// sim/framework_parts/release_breaks.h — Where one package calls another, and what it gets depends on which
// release of the other is installed.
#pragma once

#include <charconv>
#include <compare>
#include <string_view>

#include "sim/world/world.h"

namespace deadrank::sim {

enum class Calling { start, load };  // when the call is made

// Makes the calls of this moment between the packages that are installed on this rank. Throws RankFailure
// with the callee's own text where the caller is not adapted to its release yet.
void call_across_releases(World& world, Calling moment);

// Major and minor number of a version: they decide how a library behaves.

struct Release {
    int major = 0;
    int minor = 0;
    auto operator<=>(const Release&) const = default;
};

// "2.12.0.dev20260301" is 2.12; what is not there is 0.
inline Release release_of(std::string_view version) {
    Release release;
    const char* const end = version.data() + version.size();
    const auto [after, error] = std::from_chars(version.data(), end, release.major);
    if (error == std::errc() && after != end && *after == '.') std::from_chars(after + 1, end, release.minor);
    return release;
}

}  // namespace deadrank::sim
