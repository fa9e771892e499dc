// results/emitters/releases.h — What differs between releases of the tools whose files we write.
#pragma once

#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

namespace deadrank::results::emitters {

// "2.11.0+cu130" → {2, 11}
inline std::pair<int, int> release(std::string_view words) {
    const std::string text(words);
    char* end = nullptr;
    const long major = std::strtol(text.c_str(), &end, 10);
    const long minor = *end == '.' ? std::strtol(end + 1, nullptr, 10) : 0;
    return {static_cast<int>(major), static_cast<int>(minor)};
}

}  // namespace deadrank::results::emitters
