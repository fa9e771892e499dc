// sim/parts/package_version.h — Major and minor number of a version: they decide how a library behaves.
#pragma once

#include <charconv>
#include <compare>
#include <string_view>

namespace deadrank::sim {

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
