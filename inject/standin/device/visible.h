// inject/standin/device/visible.h — CUDA_VISIBLE_DEVICES, as the CUDA runtime reads it: which devices of the
// machine a process sees, and in which order. An entry that is no device hides all that follow.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <vector>

namespace deadrank::standin {

// `said`: null where the variable is not set.
inline std::vector<int> visible_devices(const char* said, int on_machine) {
    std::vector<int> seen;
    if (!said) {
        seen.resize(static_cast<std::size_t>(on_machine));
        std::iota(seen.begin(), seen.end(), 0);
        return seen;
    }
    while (*said) {
        char* end = nullptr;
        const long device = std::strtol(said, &end, 10);
        if (end == said || (*end && *end != ',') || device < 0 || device >= on_machine) break;
        seen.push_back(static_cast<int>(device));
        said = *end ? end + 1 : end;
    }
    return seen;
}

}  // namespace deadrank::standin
