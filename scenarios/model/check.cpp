// scenarios/model/check.cpp — Says which promise of ours was broken, then stops.
#include "scenarios/model/check.h"

#include <cstdio>
#include <cstdlib>

namespace deadrank::scenarios {

void check_failed(const char* condition, const char* file, int line) {
    std::fprintf(stderr, "deadrank: a promise of our own is broken: %s (%s:%d)\n", condition, file, line);
    std::abort();
}

}  // namespace deadrank::scenarios
