// scenarios/model/error.cpp — Two of the three channels for errors: CHECK for a bug of ours, Result<T> for
// bad input or a missing resource.
#include "scenarios/model/error.h"

#include <cstdio>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <system_error>

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

namespace {

// A container that is asked for more than an address can name throws length_error, not bad_alloc.
bool lacks_memory(const std::exception& thrown) {
    return dynamic_cast<const std::bad_alloc*>(&thrown) != nullptr ||
           dynamic_cast<const std::length_error*>(&thrown) != nullptr;
}

}  // namespace

bool is_host_failure(const std::exception& thrown) {
    return lacks_memory(thrown) || dynamic_cast<const std::system_error*>(&thrown) != nullptr;
}

Error host_error(const std::exception& thrown) {
    if (lacks_memory(thrown)) {
        return {ErrorCode::environment, "this machine ran out of memory during the run",
                "play fewer ranks, steps or trials at once, or free memory"};
    }
    return {ErrorCode::environment, std::string("this machine failed during the run: ") + thrown.what(),
            "look at `ulimit -a` and `df`, and run it again"};
}

}  // namespace deadrank::scenarios
