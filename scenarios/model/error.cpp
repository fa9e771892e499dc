// scenarios/model/error.cpp — Two of the three channels for what goes wrong: CHECK for a bug of ours,
// Result<T> for trouble at the door.
#include "scenarios/model/error.h"

#include <cstdio>
#include <cstdlib>

namespace deadrank::scenarios {

// Says which promise of ours was broken, then stops.

void check_failed(const char* condition, const char* file, int line) {
    std::fprintf(stderr, "deadrank: a promise of our own is broken: %s (%s:%d)\n", condition, file, line);
    std::abort();
}

// The one form in which an error is shown.

std::string Error::text() const {
    std::string out = place.file;
    if (place.line > 0) out += ":" + std::to_string(place.line);
    if (place.column > 0) out += ":" + std::to_string(place.column);
    if (!out.empty()) out += ": ";
    out += what;
    if (!remedy.empty()) out += " — " + remedy;
    return out;
}

}  // namespace deadrank::scenarios
