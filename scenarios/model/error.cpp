// scenarios/model/error.cpp — Two of the three channels for errors: CHECK for a bug of ours, Result<T> for
// bad input or a missing resource.
#include "scenarios/model/error.h"

#include <cstdio>
#include <cstdlib>

namespace deadrank::scenarios {

void check_failed(const char* condition, const char* file, int line) {
    std::fprintf(stderr, "deadrank: internal error: a check failed: %s (%s:%d)\n", condition, file, line);
    std::abort();
}

// The only form in which an error is shown.
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
