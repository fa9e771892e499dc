// tests/fuzz/target.cpp — The targets that a program links, in the order in which the linker met them.
#include "tests/fuzz/target.h"

namespace deadrank::fuzz {

std::vector<Target>& targets() {
    static std::vector<Target> all;
    return all;
}

}  // namespace deadrank::fuzz
