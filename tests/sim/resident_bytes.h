// tests/sim/resident_bytes.h — Memory of this process that is really there.
#pragma once

#include <cstddef>
#include <fstream>

namespace deadrank::sim::rig {

inline std::size_t resident_bytes() {
    std::ifstream statm("/proc/self/statm");
    std::size_t total = 0;
    std::size_t resident = 0;
    statm >> total >> resident;
    return resident * 4096;
}

}  // namespace deadrank::sim::rig
